//! The crates whose code leads to a pitfall, as far as the names of functions show.

use std::collections::{BTreeMap, BTreeSet};

use rustc_demangle::demangle;
use wasmparser::{KnownCustom, Name, Operator, Parser, Payload, TypeRef};

use crate::pitfall::Pitfall;

/// Crates through which others use the standard library: their callers are looked at instead.
const OF_THE_LIBRARY: [&str; 5] = ["std", "core", "alloc", "hashbrown", "compiler_builtins"];

/// The crates that call the feature, directly or through the standard library. It is empty if that is not known: the module
/// has no names, or the compiler has merged the callers with functions without a crate.
pub fn crates_with(pitfall: Pitfall, module: &[u8]) -> BTreeSet<String> {
    let Calls { names, callers } = Calls::of(module);
    let is_marked = |(number, name): (&u32, &String)| pitfall.is_named(name).then_some(*number);
    let mut reached: BTreeSet<u32> = names.iter().filter_map(is_marked).collect();
    let mut open: Vec<u32> = reached.iter().copied().collect();
    let mut crates = BTreeSet::new();
    while let Some(function) = open.pop() {
        for caller in callers.get(&function).into_iter().flatten() {
            match names.get(caller).and_then(|name| crate_of(name)) {
                Some(name) => {
                    crates.insert(name);
                }
                None if reached.insert(*caller) => open.push(*caller),
                None => {}
            }
        }
    }
    crates
}

/// Which function calls which, directly. What cannot be read is left out, as it is not essential.
#[derive(Default)]
struct Calls {
    names: BTreeMap<u32, String>,
    /// By the function that is called.
    callers: BTreeMap<u32, BTreeSet<u32>>,
}

impl Calls {
    fn of(module: &[u8]) -> Self {
        let mut calls = Self::default();
        let mut function = 0;
        for payload in Parser::new(0).parse_all(module).map_while(Result::ok) {
            match payload {
                Payload::ImportSection(reader) => {
                    let imports = reader.into_imports().map_while(Result::ok);
                    function += imports.filter(|import| matches!(import.ty, TypeRef::Func(_))).count() as u32;
                }
                Payload::CodeSectionEntry(body) => {
                    let operators = body.get_operators_reader().into_iter().flatten();
                    for operator in operators.map_while(Result::ok) {
                        if let Operator::Call { function_index } | Operator::ReturnCall { function_index } =
                            operator
                        {
                            calls.callers.entry(function_index).or_default().insert(function);
                        }
                    }
                    function += 1;
                }
                Payload::CustomSection(section) => {
                    let KnownCustom::Name(section) = section.as_known() else { continue };
                    for names in section.map_while(Result::ok) {
                        let Name::Function(functions) = names else { continue };
                        let functions = functions.into_iter().map_while(Result::ok);
                        calls.names.extend(functions.map(|naming| (naming.index, naming.name.to_owned())));
                    }
                }
                _ => {}
            }
        }
        calls
    }
}

/// The crate of a function with this mangled name, if it has one outside the standard library. A method of a trait may be
/// that of the type's crate or of the trait's.
fn crate_of(name: &str) -> Option<String> {
    let path = format!("{:#}", demangle(name));
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    let first = |path: &str| {
        let path = path.trim_start_matches(['<', '&', '(', '[', '*']);
        let (name, _) = path.strip_prefix("mut ").unwrap_or(path).split_once("::")?;
        (is_word(name) && !OF_THE_LIBRARY.contains(&name)).then(|| name.to_owned())
    };
    first(&path).or_else(|| first(path.split_once(" as ")?.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_found_behind_the_standard_library() {
        let module = wat::parse_str(
            "(module (import \"sateen\" \"take\" (func $take (param i32)))
                (func $_RNvNtNtNtCs1_3std3sys6random11unsupported19hashmap_random_keys)
                (func $_ZN3std4hash6random11RandomState3new17h0123456789abcdefE
                    (call $_RNvNtNtNtCs1_3std3sys6random11unsupported19hashmap_random_keys))
                (func $_ZN4dice4roll17h0123456789abcdefE
                    (call $_ZN3std4hash6random11RandomState3new17h0123456789abcdefE))
                (func $_ZN3app4main17h0123456789abcdefE (call $_ZN4dice4roll17h0123456789abcdefE))
                (func (export \"main\")
                    (call $_RNvNtNtNtCs1_3std3sys6random11unsupported19hashmap_random_keys)))",
        )
        .expect("valid");
        let found = |pitfall| crates_with(pitfall, &module).into_iter().collect::<Vec<_>>();
        assert_eq!(found(Pitfall::RandomState), ["dice"]);
        assert_eq!(found(Pitfall::Print), [""; 0]);
        assert_eq!(crates_with(Pitfall::RandomState, b"hello"), BTreeSet::new());
    }

    #[test]
    fn a_method_is_of_its_types_crate_or_its_traits() {
        for (name, expected) in [
            ("_ZN3app4main17h0123456789abcdefE", Some("app")),
            (
                "_ZN51_$LT$app..Bag$u20$as$u20$core..default..Default$GT$7default17h0123456789abcdefE",
                Some("app"),
            ),
            (
                "_ZN54_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$app..Fill$GT$4fill17h0123456789abcdefE",
                Some("app"),
            ),
            ("_ZN3std2io5stdio6_print17h0123456789abcdefE", None),
            ("main", None),
        ] {
            assert_eq!(crate_of(name).as_deref(), expected, "{name}");
        }
    }
}
