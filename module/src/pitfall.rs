//! Code that behaves differently in a sandbox than its author expects, found by the names that the
//! compiler leaves in the module.

use wasmparser::{Name, NameSectionReader};

/// A feature that works differently in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pitfall {
    /// The standard library's hash map or set with its default hasher.
    RandomState,
    /// A printed address.
    Address,
    /// `println!`, `eprintln!` or `dbg!`.
    Print,
    /// `Instant::now` or `SystemTime::now`.
    Clock,
    /// `std::thread`.
    Thread,
    /// `std::fs`.
    File,
}

impl Pitfall {
    /// Parts of the mangled names of standard library functions, in Rust's two mangling schemes.
    const MARKS: [(Self, &[&str]); 6] = [
        (Self::RandomState, &["19hashmap_random_keys"]),
        (Self::Address, &["17pointer_fmt_inner"]),
        (Self::Print, &["5stdio6__print", "5stdio6_print", "5stdio7__eprint", "5stdio7_eprint"]),
        (Self::Clock, &["7Instant3now", "10SystemTime3now"]),
        (Self::Thread, &["3sys6thread11unsupported"]),
        (Self::File, &["3sys2fs11unsupported"]),
    ];

    /// Whether a function with this mangled name is the feature.
    pub(crate) fn is_named(self, name: &str) -> bool {
        let mut marks = Self::MARKS.iter().filter(|(pitfall, _)| *pitfall == self);
        marks.any(|(_, marks)| marks.iter().any(|mark| name.contains(mark)))
    }

    /// Names the feature, its behaviour in a sandbox, and a replacement.
    pub fn advice(self) -> &'static str {
        match self {
            Self::RandomState => {
                "std's HashMap or HashSet: each sandbox iterates over them in a different order; use sateen::HashMap and \
                 sateen::HashSet, or BTreeMap and BTreeSet"
            }
            Self::Address => {
                "a printed address ({:p}, or {:?} of a pointer): it differs between sandboxes; leave it out of results"
            }
            Self::Print => "println!, eprintln! or dbg!: in a sandbox they print nothing; use sateen::log!",
            Self::Clock => {
                "a clock (Instant::now, SystemTime::now): a sandbox has none, and the call panics; pass times as arguments"
            }
            Self::Thread => {
                "threads (std::thread): a sandbox has only one, and spawning another fails; use #[job] functions"
            }
            Self::File => {
                "files (std::fs): a sandbox has none, and opening one fails; use sateen::input and the result"
            }
        }
    }
}

/// The pitfalls among the names of a name section. If it cannot be read, none are reported, as names are not essential.
pub fn find(section: &NameSectionReader) -> Vec<Pitfall> {
    let mut found = Vec::new();
    for names in section.clone().map_while(Result::ok) {
        let Name::Function(functions) = names else { continue };
        for naming in functions.into_iter().map_while(Result::ok) {
            let pitfalls = Pitfall::MARKS.iter().map(|(pitfall, _)| *pitfall);
            found.extend(pitfalls.filter(|pitfall| pitfall.is_named(naming.name)));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
