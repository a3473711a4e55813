//! Finds circles of files in a crate that use one another.
//!
//! A file uses the file that defines what it names in a `use` or in a path within its code. Re-exports are followed to
//! the definition. A re-export alone is no use: it passes a name on. Nor is what a file names of its own ancestors:
//! methods of a type are spread over the files below the one that defines it. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::names::{Meaning, Module, Names};
use super::paths::{self, Paths};

/// The modules that each module uses, with the names of what it uses of each.
type Uses = BTreeMap<Module, BTreeMap<Module, BTreeSet<String>>>;

/// Files that use one another.
pub struct Circle {
    /// All files each of which uses every other, directly or through others.
    pub files: Vec<String>,
    /// The shortest way round, with what is used at each step.
    pub shortest: String,
}

/// A file of a crate.
struct Source {
    file: String,
    text: String,
}

/// All circles of two or more files of the crate whose sources are in the folder `sources` of `root`.
pub fn circles(root: &Path, sources: &str) -> Result<Vec<Circle>> {
    let mut texts = BTreeMap::new();
    read(&root.join(sources), sources, &mut Vec::new(), &mut texts)?;
    let uses = uses(&texts)?;
    Ok(circles_among(&uses, |module| texts.get(module).map(|source| source.file.clone()).unwrap_or_default()))
}

/// Reads the sources of all modules that have files.
fn read(folder: &Path, name: &str, module: &mut Module, texts: &mut BTreeMap<Module, Source>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned) else { continue };
        if path.is_dir() {
            module.push(stem.clone());
            read(&path, &format!("{name}/{stem}"), module, texts)?;
            module.pop();
        } else if path.extension().is_some_and(|end| end == "rs") && stem != "main" {
            let file = format!("{name}/{stem}.rs");
            let is_parent = stem == "mod" || (stem == "lib" && module.is_empty());
            let mut of_file = module.clone();
            if !is_parent {
                of_file.push(stem);
            }
            texts.insert(of_file, Source { file, text: fs::read_to_string(&path)? });
        }
    }
    Ok(())
}

fn uses(texts: &BTreeMap<Module, Source>) -> Result<Uses> {
    let mut parsed = BTreeMap::new();
    for (module, Source { file, text }) in texts {
        parsed.insert(module.clone(), paths::of(text, module).with_context(|| file.clone())?);
    }
    let tests: BTreeSet<Module> = parsed.values().flat_map(|paths| paths.tests.iter().cloned()).collect();
    parsed.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
    let names = Names::new(&parsed);
    Ok(parsed.iter().map(|(module, paths)| (module.clone(), used_by(module, paths, &names))).collect())
}

/// The modules that a module uses.
fn used_by(module: &Module, paths: &Paths, names: &Names) -> BTreeMap<Module, BTreeSet<String>> {
    let mut used: BTreeMap<Module, BTreeSet<String>> = BTreeMap::new();
    let mut add = |of: Module, what: Option<&String>| {
        if !module.starts_with(&of) {
            used.entry(of).or_default().extend(what.cloned());
        }
    };
    for import in &paths.imports {
        let is_all = import.name == "*";
        if import.is_passed_on && (is_all || !paths.words.contains(&import.name)) {
            continue;
        }
        match names.meaning(module, &import.path) {
            Some(Meaning::Item(of)) => add(of, import.path.last()),
            Some(Meaning::Module(of)) if is_all => add(of, Some(&import.name)),
            _ => {}
        }
    }
    for (place, path) in &paths.inline {
        if let Some(Meaning::Item(of)) = names.meaning(place, path) {
            add(of, path.last());
        }
    }
    // What the file uses of all names that it imports from a module.
    for word in &paths.words {
        if let Some(of) = names.among_all(module, word) {
            add(of, Some(word));
        }
    }
    used
}

fn circles_among(uses: &Uses, file: impl Fn(&Module) -> String) -> Vec<Circle> {
    let next = |module: &Module| uses.get(module).into_iter().flat_map(BTreeMap::keys);
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = (uses.keys())
        .map(|from| {
            let mut seen = BTreeSet::new();
            let mut open: Vec<&Module> = next(from).collect();
            while let Some(module) = open.pop() {
                if seen.insert(module) {
                    open.extend(next(module));
                }
            }
            (from, seen)
        })
        .collect();
    let mut circles = BTreeSet::new();
    for (module, seen) in &reached {
        let is_mutual = |other: &&Module| reached.get(*other).is_some_and(|back| back.contains(module));
        let circle: Vec<&Module> = seen.iter().copied().filter(is_mutual).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    let described = circles.iter().map(|circle| {
        let mut files: Vec<String> = circle.iter().map(|module| file(module)).collect();
        files.sort();
        Circle { files, shortest: shortest(circle, uses, &file) }
    });
    described.collect()
}

/// The shortest way round within a circle, as text.
fn shortest(circle: &[&Module], uses: &Uses, file: impl Fn(&Module) -> String) -> String {
    let rounds = circle.iter().filter_map(|start| round(start, uses));
    let Some(round) = rounds.min_by_key(Vec::len) else { return String::new() };
    let mut text = String::new();
    for (from, to) in round.iter().zip(round.iter().cycle().skip(1)) {
        let what = uses.get(*from).and_then(|used| used.get(*to)).into_iter().flatten();
        let what: Vec<&str> = what.map(String::as_str).collect();
        text += &format!("{} uses {} of ", file(from), what.join(", "));
    }
    text + &round.first().map(|first| file(first)).unwrap_or_default()
}

/// The shortest way from a module back to itself.
fn round<'a>(start: &'a Module, uses: &'a Uses) -> Option<Vec<&'a Module>> {
    let mut ways = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = way.last().and_then(|last| uses.get(*last));
            for module in last.into_iter().flat_map(BTreeMap::keys) {
                if module == start {
                    return Some(way);
                }
                if seen.insert(module) {
                    longer.push([way.as_slice(), &[module]].concat());
                }
            }
        }
        ways = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let texts = files.iter().map(|(module, text)| {
            let path = module.split("::").filter(|word| !word.is_empty()).map(str::to_owned).collect();
            (path, Source { file: (*module).to_owned(), text: (*text).to_owned() })
        });
        let circles = circles_among(&uses(&texts.collect()).expect("Rust"), |module| module.join("::"));
        circles.into_iter().map(|circle| circle.files).collect()
    }

    const NONE: [[&str; 0]; 0] = [];

    #[test]
    fn circles_are_found_in_every_way_of_writing_uses() {
        let direct = [("", "mod a; mod b;"), ("a", "use crate::b::B as C;"), ("b", "use super::a::{A, D};")];
        assert_eq!(found_in(&direct), [["a", "b"]]);
        let round = [
            ("a", "use crate::b::x::X;"),
            ("b", "mod x;"),
            ("b::x", "use crate::c::*;"),
            ("c", "use crate::{a::A, d}; fn f() { d::f() }"),
            ("d", ""),
        ];
        assert_eq!(found_in(&round), [["a", "b::x", "c"]]);
    }

    #[test]
    fn submodules_and_tests_are_left_out() {
        assert_eq!(
            found_in(&[("a", "mod b; use b::B; struct A;"), ("a::b", "use super::A; use std::fmt;")]),
            NONE
        );
        let tests = [
            ("a", "use crate::b::B; #[cfg(test)] mod tests;"),
            ("a::tests", "use crate::b::B;"),
            (
                "b",
                "#[cfg(test)] use crate::a::A; #[cfg(test)] mod tests { fn f() { crate::a::f() } } struct B;",
            ),
        ];
        assert_eq!(found_in(&tests), NONE);
    }

    #[test]
    fn re_exports_are_followed_to_the_definition() {
        let named = [
            ("", "mod a; pub use a::A;"),
            ("a", "mod x; mod y; pub(crate) use x::X; pub use y::*; use std::fmt;"),
            ("a::x", "use super::Y as Z; pub struct X;"),
            ("a::y", "use crate::a::X; pub struct Y;"),
        ];
        assert_eq!(found_in(&named), [["a::x", "a::y"]]);
        let at_the_top = [
            ("", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("a", "use crate::B; pub struct A(B);"),
            ("b", "fn f(a: crate::A) {} pub struct B;"),
        ];
        assert_eq!(found_in(&at_the_top), [["a", "b"]]);
        let same_name = [
            ("a", "pub mod x; pub use x::x;"),
            ("a::x", "pub fn x() { crate::b::y() }"),
            ("b", "use crate::a::x; pub fn y() { x() }"),
        ];
        assert_eq!(found_in(&same_name), [["a::x", "b"]]);
    }

    #[test]
    fn names_among_all_of_a_module_are_followed_too() {
        let all = [
            ("", "mod a; mod b;"),
            ("a", "mod x; use crate::b::B; pub struct A;"),
            ("a::x", "use super::*; fn f(_: B) {} pub struct X;"),
            ("b", "pub struct B(crate::a::x::X);"),
        ];
        assert_eq!(found_in(&all), [["a::x", "b"]]);
    }

    #[test]
    fn paths_in_code_are_uses() {
        let inline = [
            ("", "mod a; mod b;"),
            ("a", "pub struct A; impl A { fn f() -> Vec<super::b::B> { vec![] } }"),
            ("b", "pub struct B; fn f() { assert!(matches!(1, crate::a::A::ONE), \"no\") }"),
        ];
        assert_eq!(found_in(&inline), [["a", "b"]]);
        let by_module = [
            ("a", "use crate::b; fn f() { b::g() }"),
            ("b", "pub fn g() { use crate::a::f as g; mod inner { fn h() { super::super::a::f() } } }"),
        ];
        assert_eq!(found_in(&by_module), [["a", "b"]]);
        assert_eq!(found_in(&[("a", "use crate::b;"), ("b", "fn f() { crate::a::f() }")]), NONE);
    }

    #[test]
    fn a_type_may_have_its_methods_in_submodules() {
        let spread = [
            ("", "mod host; pub use host::Host;"),
            ("host", "mod lent; mod lost; use lent::Lent; pub struct Host { lent: Lent }"),
            ("host::lent", "use super::Host; pub struct Lent; impl Host { fn lend(&self) {} }"),
            ("host::lost", "use super::lent::Lent; impl crate::Host { fn lose(_: Lent) {} }"),
        ];
        assert_eq!(found_in(&spread), NONE);
        // Another file that uses the type closes a circle, if a submodule uses that file.
        let through = [
            ("", "mod host; mod peer; use host::Host;"),
            ("host", "mod lent; use lent::Lent; pub struct Host { lent: Lent }"),
            ("host::lent", "use crate::peer::Peer; pub struct Lent(Peer);"),
            ("peer", "pub struct Peer(crate::Host);"),
        ];
        assert_eq!(found_in(&through), [["host", "host::lent", "peer"]]);
    }

    #[test]
    fn a_re_export_alone_is_not_a_use() {
        let mut files = [
            ("a", "mod x; pub use x::X; pub struct A;"),
            ("a::x", "use crate::b::B; pub struct X;"),
            ("b", "use crate::a::A; pub struct B;"),
        ];
        assert_eq!(found_in(&files), NONE);
        files[0].1 = "mod x; pub use x::X; pub struct A(X);";
        assert_eq!(found_in(&files), [["a", "a::x", "b"]]);
    }

    #[test]
    fn the_shortest_way_round_names_what_is_used() {
        let module = |name: &str| vec![name.to_owned()];
        let used = |names: &[(&str, &str)]| {
            names.iter().map(|(to, what)| (module(to), BTreeSet::from([(*what).to_owned()]))).collect()
        };
        let uses = Uses::from([
            (module("a"), used(&[("b", "B")])),
            (module("b"), used(&[("c", "C")])),
            (module("c"), used(&[("a", "A"), ("b", "D")])),
        ]);
        let circles = circles_among(&uses, |module| module.join("::"));
        let found: Vec<_> = circles.iter().map(|circle| (circle.files.len(), &*circle.shortest)).collect();
        assert_eq!(found, [(3, "b uses C of c uses D of b")]);
    }
}
