//! Checks the shape of the code: no file of more than 400 lines, no struct of more than 15 fields, and no circle of
//! files of a crate that use one another. A module and its submodules may use one another. Some names may be used in
//! one folder of a crate only.

mod exceptions;
mod names;
mod paths;
mod uses;

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::files;
use crate::shell::root;
use exceptions::{CYCLES, Cycle, Exception, FIELDS, LINES};
use uses::Circle;

/// Maximum lines of a file.
const LINES_MAX: usize = 400;
/// Maximum fields of a struct.
const FIELDS_MAX: usize = 15;
/// Extensions of files that people write.
const WRITTEN: [&str; 4] = ["rs", "ts", "svelte", "h"];
/// Crates that are checked for circles.
const CRATES: [&str; 4] = ["protocol", "host", "coordinator", "walls"];

/// Names that only one folder within a folder may use: `(name, folder, the one within)`.
const RESERVED: [(&str, &str, &str); 1] = [("sateen_api", "coordinator/src/", "coordinator/src/api/")];

/// Checks that all files and structs are small enough, that no files use one another in a circle, and that no name is used
/// outside its folder.
pub fn check() -> Result<()> {
    let root = root();
    let is_written = |path: &String| path.rsplit_once('.').is_some_and(|(_, end)| WRITTEN.contains(&end));
    let files: Vec<String> = files::below(&root)?.into_iter().filter(is_written).collect();
    ensure!(files.len() > 500, "found only {} files", files.len());
    let mut lines = Vec::new();
    let mut fields = Vec::new();
    let mut wrong = Vec::new();
    for file in &files {
        let text = fs::read_to_string(root.join(file)).with_context(|| file.clone())?;
        lines.push((file.clone(), text.lines().count()));
        wrong.extend(reserved(file, &text));
        if file.ends_with(".rs") && file.contains("/src/") {
            let parsed = syn::parse_file(&text).with_context(|| file.clone())?;
            add_structs(&parsed.items, file, &mut fields);
        }
    }
    wrong.extend(too_large(&lines, LINES_MAX, "lines", &LINES));
    wrong.extend(too_large(&fields, FIELDS_MAX, "fields", &FIELDS));
    let mut circles = Vec::new();
    for name in CRATES {
        circles.extend(uses::circles(&root, &format!("{name}/src"))?);
    }
    wrong.extend(in_circles(&circles, &CYCLES));
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Adds the structs among the items and their inner modules, each with its number of fields.
fn add_structs(items: &[syn::Item], file: &str, found: &mut Vec<(String, usize)>) {
    for item in items {
        match item {
            syn::Item::Struct(one) => found.push((format!("{file}: {}", one.ident), one.fields.len())),
            syn::Item::Mod(syn::ItemMod { content: Some((_, items)), .. }) => add_structs(items, file, found),
            _ => {}
        }
    }
}

/// Reports names that a file uses and that are reserved for another folder.
fn reserved(file: &str, text: &str) -> Vec<String> {
    let is_wrong = |(name, folder, within): &&(&str, &str, &str)| {
        file.starts_with(folder) && !file.starts_with(within) && text.contains(name)
    };
    let wrong = RESERVED.iter().filter(is_wrong);
    wrong
        .map(|(name, _, within)| format!("{file} uses {name}, which is reserved for {within}: convert there"))
        .collect()
}

/// Reports circles that are not listed, and listed ones that are not as they are listed.
fn in_circles(found: &[Circle], listed: &[Cycle]) -> Vec<String> {
    let unlisted = found.iter().filter(|circle| !listed.iter().any(|cycle| cycle.files == circle.files));
    let mut wrong: Vec<String> = unlisted
        .map(|Circle { files, shortest }| {
            format!(
                "these files use one another: {}. Move an item to where it belongs. The shortest way round: {shortest}",
                files.join(", "),
            )
        })
        .collect();
    let gone = listed.iter().filter(|cycle| !found.iter().any(|circle| cycle.files == circle.files));
    wrong.extend(gone.map(|Cycle { files, why }| {
        format!("the cycle of {} ({why}) is not as it is listed: correct its exception", files.join(", "))
    }));
    wrong
}

/// Reports items that are too large and not excepted, and exceptions that are not needed any more.
fn too_large(found: &[(String, usize)], most: usize, unit: &str, exceptions: &[Exception]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, count) in found {
        let exception = exceptions.iter().find(|exception| exception.name == name);
        match exception {
            None if *count > most => {
                wrong.push(format!("{name} has {count} {unit}, and at most {most} are allowed: split it"));
            }
            Some(Exception { most, why, .. }) if count > most => wrong
                .push(format!("{name} has {count} {unit}; its exception ({why}) allows {most}: split it")),
            Some(_) if *count <= most => {
                wrong.push(format!("{name} has {count} {unit}: remove its exception"));
            }
            _ => {}
        }
    }
    let gone = exceptions.iter().filter(|exception| !found.iter().any(|(name, _)| name == exception.name));
    wrong.extend(gone.map(|exception| format!("{} has an exception but does not exist", exception.name)));
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCEPTIONS: [Exception; 1] = [Exception { name: "b", most: 12, why: "it is a table" }];

    #[test]
    fn this_repository_is_in_shape() {
        check().unwrap_or_else(|wrong| panic!("{wrong}"));
    }

    fn wrong(found: &[(&str, usize)]) -> Vec<String> {
        let found: Vec<(String, usize)> =
            found.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        too_large(&found, 10, "lines", &EXCEPTIONS)
    }

    #[test]
    fn large_items_and_needless_exceptions_are_reported() {
        assert_eq!(wrong(&[("a", 10), ("b", 12)]), Vec::<String>::new());
        assert_eq!(wrong(&[("a", 11), ("b", 12)]), ["a has 11 lines, and at most 10 are allowed: split it"]);
        assert_eq!(
            wrong(&[("b", 13)]),
            ["b has 13 lines; its exception (it is a table) allows 12: split it"]
        );
        assert_eq!(wrong(&[("b", 10)]), ["b has 10 lines: remove its exception"]);
        assert_eq!(wrong(&[("a", 1)]), ["b has an exception but does not exist"]);
    }

    #[test]
    fn a_name_that_is_for_another_folder_is_found() {
        let says = |file| reserved(file, "use sateen_api::Run;").len();
        assert_eq!(says("coordinator/src/store/sql.rs"), 1);
        assert_eq!([says("coordinator/src/api/mod.rs"), says("cli/src/main.rs")], [0, 0]);
        assert_eq!(
            reserved("coordinator/src/store/sql.rs", "use sateen_protocol::RunId;"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn unlisted_circles_and_changed_ones_are_reported() {
        let listed = [Cycle { files: &["a.rs", "b.rs"], why: "they are one" }];
        let found = |files: &[&str]| Circle {
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            shortest: "a.rs uses B of b.rs uses A of a.rs".to_owned(),
        };
        assert_eq!(in_circles(&[found(&["a.rs", "b.rs"])], &listed), Vec::<String>::new());
        let gone = "the cycle of a.rs, b.rs (they are one) is not as it is listed: correct its exception";
        assert_eq!(in_circles(&[], &listed), [gone]);
        let wider = in_circles(&[found(&["a.rs", "b.rs", "c.rs"])], &listed);
        let new = "these files use one another: a.rs, b.rs, c.rs. Move an item to where it belongs. The shortest way \
                   round: a.rs uses B of b.rs uses A of a.rs";
        assert_eq!(wider, [new, gone]);
    }

    #[test]
    fn fields_are_counted_in_inner_modules_too() {
        let file =
            syn::parse_file("struct A { a: u8, b: u8 } mod m { pub struct B(u8); struct C; }").expect("Rust");
        let mut found = Vec::new();
        add_structs(&file.items, "f.rs", &mut found);
        let expected =
            [("f.rs: A", 2), ("f.rs: B", 1), ("f.rs: C", 0)].map(|(name, count)| (name.to_owned(), count));
        assert_eq!(found, expected);
    }
}
