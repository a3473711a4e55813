//! Finds circles of files in a crate that use one another.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The path of a module within its crate.
type Module = Vec<String>;
/// The modules that each module uses.
type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// Groups of two or more files that use one another, directly or through others; not those of one module and its
/// submodules only. Tests are left out.
pub fn circles(sources: &Path) -> Result<Vec<Vec<String>>> {
    let mut texts = BTreeMap::new();
    read(sources, &mut Vec::new(), &mut texts)?;
    Ok(circles_among(&uses(&texts)?))
}

/// The sources of all modules that have files, except tests.
fn read(folder: &Path, module: &mut Module, texts: &mut BTreeMap<Module, String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned) else { continue };
        if path.is_dir() {
            module.push(stem);
            read(&path, module, texts)?;
            module.pop();
        } else if path.extension().is_some_and(|end| end == "rs") && stem != "main" {
            let is_parent = stem == "mod" || (stem == "lib" && module.is_empty());
            let mut of_file = module.clone();
            if !is_parent {
                of_file.push(stem);
            }
            texts.insert(of_file, fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

fn uses(texts: &BTreeMap<Module, String>) -> Result<Uses> {
    let mut parsed = BTreeMap::new();
    let mut tests = BTreeSet::new();
    for (module, text) in texts {
        let file = syn::parse_file(text).with_context(|| module.join("::"))?;
        for item in &file.items {
            if let syn::Item::Mod(within) = item
                && is_for_tests(&within.attrs)
            {
                tests.insert([module.as_slice(), &[within.ident.to_string()]].concat());
            }
        }
        parsed.insert(module.clone(), file);
    }
    parsed.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
    let modules: BTreeSet<Module> = parsed.keys().cloned().collect();
    let mut uses = Uses::new();
    for (module, file) in &parsed {
        let used = uses.entry(module.clone()).or_default();
        for item in &file.items {
            if let syn::Item::Use(found) = item
                && !is_for_tests(&found.attrs)
            {
                follow(&found.tree, module, Vec::new(), &modules, used);
            }
        }
        used.remove(module);
    }
    Ok(uses)
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}

/// Adds the modules that a `use` names.
fn follow(
    tree: &syn::UseTree,
    module: &Module,
    before: Module,
    modules: &BTreeSet<Module>,
    used: &mut BTreeSet<Module>,
) {
    let with = |name: &syn::Ident| [before.as_slice(), &[name.to_string()]].concat();
    match tree {
        syn::UseTree::Path(path) => follow(&path.tree, module, with(&path.ident), modules, used),
        syn::UseTree::Group(group) => {
            group.items.iter().for_each(|tree| follow(tree, module, before.clone(), modules, used));
        }
        syn::UseTree::Name(name) => used.extend(found(&with(&name.ident), module, modules)),
        syn::UseTree::Rename(name) => used.extend(found(&with(&name.ident), module, modules)),
        syn::UseTree::Glob(_) => used.extend(found(&before, module, modules)),
    }
}

/// The module whose file has the item that a path names, if it is in this crate.
fn found(path: &[String], module: &Module, modules: &BTreeSet<Module>) -> Option<Module> {
    let mut words = path.iter().map(String::as_str).peekable();
    let mut place: Module = match words.peek().copied()? {
        "crate" => {
            words.next();
            Vec::new()
        }
        "self" => {
            words.next();
            module.clone()
        }
        "super" => module.clone(),
        // A submodule; any other name is another crate.
        first => {
            let within = [module.as_slice(), &[first.to_owned()]].concat();
            modules.contains(&within).then(|| module.clone())?
        }
    };
    while words.peek() == Some(&"super") {
        words.next();
        place.pop();
    }
    place.extend(words.map(str::to_owned));
    while !modules.contains(&place) {
        place.pop()?;
    }
    Some(place)
}

fn circles_among(uses: &Uses) -> Vec<Vec<String>> {
    let one_room = |one: &Module, other: &Module| one.starts_with(other) || other.starts_with(one);
    let next = |module: &Module| {
        let used = uses.get(module).into_iter().flatten();
        used.filter(|other| !one_room(module, other)).cloned().collect::<Vec<_>>()
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> = (uses.keys())
        .map(|from| {
            let mut seen = BTreeSet::new();
            let mut open = next(from);
            while let Some(module) = open.pop() {
                if seen.insert(module.clone()) {
                    open.extend(next(&module));
                }
            }
            (from, seen)
        })
        .collect();
    let mut circles = BTreeSet::new();
    for (module, seen) in &reached {
        let circle: Vec<String> = (seen.iter())
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(*module)))
            .map(|other| other.join("::"))
            .collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let texts = files.iter().map(|(module, text)| {
            let module = module.split("::").filter(|word| !word.is_empty()).map(str::to_owned).collect();
            (module, (*text).to_owned())
        });
        circles_among(&uses(&texts.collect()).expect("Rust"))
    }

    #[test]
    fn circles_are_found_in_every_way_of_writing_uses() {
        let direct = [("", "mod a; mod b;"), ("a", "use crate::b::B as C;"), ("b", "use super::a::{A, D};")];
        assert_eq!(found_in(&direct), [["a", "b"]]);
        let round = [
            ("a", "use crate::b::x::X;"),
            ("b", "mod x;"),
            ("b::x", "use crate::c::*;"),
            ("c", "use crate::{a::A, d};"),
            ("d", ""),
        ];
        assert_eq!(found_in(&round), [["a", "b::x", "c"]]);
    }

    #[test]
    fn submodules_and_tests_are_left_out() {
        assert_eq!(
            found_in(&[("a", "mod b; use b::B;"), ("a::b", "use super::A; use std::fmt;")]),
            Vec::<Vec<String>>::new()
        );
        let tests = [
            ("a", "use crate::b::B; #[cfg(test)] mod tests;"),
            ("a::tests", "use crate::b::B;"),
            ("b", "#[cfg(test)] use crate::a::A;"),
        ];
        assert_eq!(found_in(&tests), Vec::<Vec<String>>::new());
    }
}
