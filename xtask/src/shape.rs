//! The shape of the house: no file of more than 400 lines, no struct of more than 15 fields, and no circle of files of a
//! crate that use one another. A module and those within it are one room, so what is between them is no circle. Some names are
//! for one folder of a crate.

mod exceptions;
mod uses;

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::files;
use crate::shell::root;
use exceptions::{CIRCLES, Exception, FIELDS, LINES};

/// Lines of a file.
const LINES_MAX: usize = 400;
/// Fields of a struct.
const FIELDS_MAX: usize = 15;
/// Ends of names of files that people write.
const WRITTEN: [&str; 3] = ["rs", "ts", "svelte"];
/// Crates whose files do not use one another in a circle.
const CRATES: [&str; 3] = ["protocol", "host", "coordinator"];

/// Names that in a folder only files of a folder within it say, so that nothing else there depends on what they name.
const RESERVED: [(&str, &str, &str); 1] = [("sateen_api", "coordinator/src/", "coordinator/src/api/")];

/// Whether all files and structs are as small as they are to be, and no files use one another in a circle.
pub fn check() -> Result<()> {
    let root = root();
    let is_written = |path: &String| path.rsplit_once('.').is_some_and(|(_, end)| WRITTEN.contains(&end));
    let files: Vec<String> = files::below(&root)?.into_iter().filter(is_written).collect();
    ensure!(files.len() > 500, "only {} files were found", files.len());
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
        circles.extend(uses::circles(&root.join(name).join("src"))?);
    }
    wrong.extend(other_circles(&circles, &CIRCLES));
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Adds the structs among items and in modules within them, and how many fields each has.
fn add_structs(items: &[syn::Item], file: &str, found: &mut Vec<(String, usize)>) {
    for item in items {
        match item {
            syn::Item::Struct(one) => found.push((format!("{file}: {}", one.ident), one.fields.len())),
            syn::Item::Mod(syn::ItemMod { content: Some((_, items)), .. }) => add_structs(items, file, found),
            _ => {}
        }
    }
}

/// Names that a file says and that are not for it.
fn reserved(file: &str, text: &str) -> Vec<String> {
    let is_wrong = |(name, folder, within): &&(&str, &str, &str)| {
        file.starts_with(folder) && !file.starts_with(within) && text.contains(name)
    };
    let wrong = RESERVED.iter().filter(is_wrong);
    wrong
        .map(|(name, _, within)| format!("{file} names {name}, which is for {within}: convert there"))
        .collect()
}

/// What is larger than it may be and no exception, and exceptions that are none any more.
fn too_large(found: &[(String, usize)], most: usize, unit: &str, exceptions: &[Exception]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, count) in found {
        let exception = exceptions.iter().find(|exception| exception.name == name);
        match exception {
            None if *count > most => {
                wrong.push(format!("{name} has {count} {unit}, and {most} is the most: split it"));
            }
            Some(Exception { most, why, .. }) if count > most => wrong.push(format!(
                "{name} has {count} {unit}; as an exception ({why}) it may have {most}: split it"
            )),
            Some(_) if *count <= most => {
                wrong.push(format!("{name} has {count} {unit}: take it off the list of exceptions"));
            }
            _ => {}
        }
    }
    let gone = exceptions.iter().filter(|exception| !found.iter().any(|(name, _)| name == exception.name));
    wrong.extend(gone.map(|exception| format!("{} is an exception and not there", exception.name)));
    wrong
}

/// Circles that are no exceptions, and exceptions that are no circles any more.
fn other_circles(circles: &[Vec<String>], exceptions: &[&[&str]]) -> Vec<String> {
    let new = circles.iter().filter(|circle| !exceptions.iter().any(|exception| circle == exception));
    let gone = exceptions.iter().filter(|exception| !circles.iter().any(|circle| circle == *exception));
    (new.map(|circle| format!("these files use one another: {}", circle.join(", "))))
        .chain(gone.map(|circle| format!("these are an exception and no circle: {}", circle.join(", "))))
        .collect()
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
    fn what_is_too_large_is_named_and_so_is_an_exception_that_is_none() {
        assert_eq!(wrong(&[("a", 10), ("b", 12)]), Vec::<String>::new());
        assert_eq!(wrong(&[("a", 11), ("b", 12)]), ["a has 11 lines, and 10 is the most: split it"]);
        assert_eq!(
            wrong(&[("b", 13)]),
            ["b has 13 lines; as an exception (it is a table) it may have 12: split it"]
        );
        assert_eq!(wrong(&[("b", 10)]), ["b has 10 lines: take it off the list of exceptions"]);
        assert_eq!(wrong(&[("a", 1)]), ["b is an exception and not there"]);
    }

    #[test]
    fn a_circle_that_is_no_exception_is_named_and_so_is_an_exception_that_is_no_circle() {
        let circle = vec!["a".to_owned(), "b".to_owned()];
        let circles = [circle];
        assert_eq!(other_circles(&circles, &[&["a", "b"]]), Vec::<String>::new());
        assert_eq!(other_circles(&circles, &[]), ["these files use one another: a, b"]);
        assert_eq!(other_circles(&[], &[&["a", "b"]]), ["these are an exception and no circle: a, b"]);
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
    fn fields_are_counted_in_modules_within_files_too() {
        let file =
            syn::parse_file("struct A { a: u8, b: u8 } mod m { pub struct B(u8); struct C; }").expect("Rust");
        let mut found = Vec::new();
        add_structs(&file.items, "f.rs", &mut found);
        let expected =
            [("f.rs: A", 2), ("f.rs: B", 1), ("f.rs: C", 0)].map(|(name, count)| (name.to_owned(), count));
        assert_eq!(found, expected);
    }
}
