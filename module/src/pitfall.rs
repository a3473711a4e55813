//! What an app contains that does not do in a sandbox what its author expects, found by the names that the
//! compiler leaves in the module.

use wasmparser::{Name, NameSectionReader};

/// Something that works otherwise in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pitfall {
    /// The standard library's hash map or set with its default hasher.
    RandomState,
    /// The address of something, shown.
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
    /// Parts of mangled names, in Rust's two ways of mangling, of functions of the standard library.
    const MARKS: [(Self, &[&str]); 6] = [
        (Self::RandomState, &["19hashmap_random_keys"]),
        (Self::Address, &["17pointer_fmt_inner"]),
        (Self::Print, &["5stdio6__print", "5stdio6_print", "5stdio7__eprint", "5stdio7_eprint"]),
        (Self::Clock, &["7Instant3now", "10SystemTime3now"]),
        (Self::Thread, &["3sys6thread11unsupported"]),
        (Self::File, &["3sys2fs11unsupported"]),
    ];

    /// What is found, what it does in a sandbox, and what to use instead.
    pub fn advice(self) -> &'static str {
        match self {
            Self::RandomState => {
                "std's HashMap or HashSet: each sandbox iterates over them in another order; use sateen::HashMap and \
                 sateen::HashSet, or BTreeMap and BTreeSet"
            }
            Self::Address => {
                "an address that is shown ({:p}, or {:?} of a pointer): it is another in each sandbox; leave it out of results"
            }
            Self::Print => "println!, eprintln! or dbg!: in a sandbox they print nothing; use sateen::log!",
            Self::Clock => {
                "a clock (Instant::now, SystemTime::now): there is none, the call panics; pass times as arguments"
            }
            Self::Thread => {
                "threads (std::thread): a sandbox has one, spawning another fails; use #[job] functions"
            }
            Self::File => {
                "files (std::fs): a sandbox has none, opening one fails; use sateen::input and the result"
            }
        }
    }
}

/// The pitfalls among the names of a name section; none when it cannot be read, since names decide nothing.
pub fn find(section: &NameSectionReader) -> Vec<Pitfall> {
    let mut found = Vec::new();
    for names in section.clone().map_while(Result::ok) {
        let Name::Function(functions) = names else { continue };
        for naming in functions.into_iter().map_while(Result::ok) {
            found.extend((Pitfall::MARKS.iter()).filter_map(|(pitfall, marks)| {
                marks.iter().any(|mark| naming.name.contains(mark)).then_some(*pitfall)
            }));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
