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
    /// `std::thread::sleep`.
    Sleep,
    /// `std::fs`.
    File,
    /// `std::io::stdin`.
    Stdin,
    /// `std::env`.
    Environment,
    /// `std::net`.
    Network,
    /// `std::process`.
    Process,
    /// `rand`'s `SmallRng`.
    SmallRng,
}

impl Pitfall {
    /// Parts of the mangled names of standard library functions, in Rust's two mangling schemes.
    const MARKS: [(Self, &[&str]); 11] = [
        (Self::RandomState, &["19hashmap_random_keys"]),
        (Self::Address, &["17pointer_fmt_inner"]),
        (Self::Print, &["5stdio6__print", "5stdio6_print", "5stdio7__eprint", "5stdio7_eprint"]),
        (Self::Clock, &["7Instant3now", "10SystemTime3now"]),
        (Self::Thread, &["3sys6thread11unsupported"]),
        (Self::Sleep, &["6thread9functions5sleep", "3std6thread5sleep"]),
        (Self::File, &["3sys2fs11unsupported", "3std2fs4File4open", "3std2fs4read", "3std2fs5write"]),
        (Self::Stdin, &["5stdio8StdinRaw", "5stdio5stdin"]),
        (Self::Environment, &["3std3env3var", "3std3env4args"]),
        (Self::Network, &["3std3net3tcp", "3std3net3udp"]),
        (Self::Process, &["3std7process4exit", "3std7process7Command"]),
    ];

    /// Parts of the paths that the compiler writes in its MIR, for features that leave no function in a module: calls of
    /// these are replaced with their error before code is made.
    const PATHS: [(Self, &[&str]); 5] = [
        (Self::File, &["std::fs::", "std::sys::fs::"]),
        (Self::Environment, &["std::env::var", "std::sys::env::", "std::sys::args::"]),
        (Self::Network, &["std::net::Tcp", "std::net::Udp", "std::sys::net::"]),
        (Self::Process, &["std::process::Command", "std::sys::process::"]),
        (Self::SmallRng, &["rand::prelude::SmallRng", "rand::rngs::SmallRng", "rand::rngs::small::SmallRng"]),
    ];

    /// The features that a crate uses according to its MIR, as rustc writes it with `--emit=mir`.
    pub fn in_mir(mir: &str) -> Vec<Self> {
        let occurs = |(pitfall, paths): &(Self, &[&str])| {
            paths.iter().any(|path| mir.contains(path)).then_some(*pitfall)
        };
        Self::PATHS.iter().filter_map(occurs).collect()
    }

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
            Self::Sleep => "std::thread::sleep: a sandbox has no clock, and the call panics; leave it out",
            Self::Stdin => {
                "stdin (std::io::stdin): in a sandbox it is empty; use sateen::input, which `--input NAME=-` fills from stdin"
            }
            Self::Environment => {
                "the environment (std::env): a sandbox has no variables and no words of a command line; use parameters of #[main]"
            }
            Self::Network => {
                "the network (std::net): a sandbox has none, and connecting fails; use sateen::input and the result"
            }
            Self::Process => {
                "processes (std::process): a sandbox has none: other programs do not start, and exit fails the run; return a result"
            }
            Self::SmallRng => {
                "rand's SmallRng: it is another generator in a sandbox, which has 32 bits, than in `cargo test`; use rand_chacha or \
                 sateen::SplitMix64"
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

#[cfg(test)]
mod tests {
    use super::*;

    /// As rustc 1.95 writes it.
    #[test]
    fn features_without_a_function_are_found_in_mir() {
        for (mir, expected) in [
            ("scope 3 (inlined std::fs::read::<&str>) {", &[Pitfall::File][..]),
            (
                "_9 = std::fs::File::open::<String>(move _10) -> [return: bb2, unwind unreachable];",
                &[Pitfall::File],
            ),
            ("scope 1 (inlined std::env::var::<&str>) {", &[Pitfall::Environment]),
            ("scope 32 (inlined std::sys::args::unsupported::args) {", &[Pitfall::Environment]),
            ("scope 1 (inlined std::net::TcpStream::connect::<&str>) {", &[Pitfall::Network]),
            ("scope 7 (inlined std::sys::process::unsupported::output) {", &[Pitfall::Process]),
            ("let mut _3: rand::prelude::SmallRng;", &[Pitfall::SmallRng]),
            ("let mut _3: rand_chacha::ChaCha8Rng;", &[]),
            ("let mut _3: dice::SmallRng;", &[]),
            ("scope 34 (inlined core::str::<impl str>::parse::<std::net::IpAddr>) {", &[]),
            ("_0 = env::var(copy _1) -> [return: bb1, unwind unreachable];", &[]),
        ] {
            assert_eq!(Pitfall::in_mir(mir), expected, "{mir}");
        }
    }
}
