//! The apps, each with an instance, and their plain versions natively.
//!
//! A native version is the very function that the sandbox runs, from the same crate, compiled for
//! this machine with optimisation.

use std::fmt::Display;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::hint::black_box;
use std::str::{FromStr, SplitAsciiWhitespace};

use anyhow::{Context, Result, anyhow, bail};

/// An app and its task.
pub struct Workload {
    /// The app's name.
    pub name: &'static str,
    /// The words of its command line, separated by blanks. It runs for some seconds at most.
    pub arguments: &'static str,
    /// Its inputs, by name.
    pub inputs: &'static [(&'static str, &'static [u8])],
}

impl Workload {
    /// Its label in figures: its name and its words, if these are short.
    pub fn label(&self) -> String {
        const LENGTH_MAX: usize = 40;
        match self.arguments {
            "" => self.name.to_owned(),
            arguments if arguments.len() <= LENGTH_MAX => format!("{} {arguments}", self.name),
            arguments => format!("{} {}…", self.name, arguments.split_at(LENGTH_MAX).0),
        }
    }

    /// The words of its command line.
    pub fn words(&self) -> Vec<&'static str> {
        self.arguments.split_ascii_whitespace().collect()
    }
}

/// The flag that chooses apps, followed by their names, separated by commas.
pub const FLAG: &str = "--app=";

/// The apps that are measured.
pub struct Workloads(Vec<&'static Workload>);

impl Workloads {
    /// The workloads that flags name; all if there are no flags.
    ///
    /// # Errors
    /// When an app has no workload.
    pub fn chosen(flags: &[&str]) -> Result<Self> {
        let names = flags.iter().filter_map(|flag| flag.strip_prefix(FLAG)).flat_map(|apps| apps.split(','));
        let found = names.map(|name| {
            let known = || WORKLOADS.iter().map(|workload| workload.name).collect::<Vec<_>>().join(", ");
            let workload = WORKLOADS.iter().find(|workload| workload.name == name);
            workload.with_context(|| format!("no app `{name}` is measured; these are: {}", known()))
        });
        let found: Vec<_> = found.collect::<Result<_>>()?;
        Ok(Self(if flags.is_empty() { WORKLOADS.iter().collect() } else { found }))
    }

    /// Iterates over the workloads.
    pub fn iter(&self) -> impl Iterator<Item = &'static Workload> {
        self.0.iter().copied()
    }

    /// Whether all workloads are chosen.
    pub fn are_all(&self) -> bool {
        self.0.len() == WORKLOADS.len()
    }
}

/// All sample apps.
pub static WORKLOADS: [Workload; 13] = [
    Workload { name: "fib", arguments: "38", inputs: &[] },
    Workload { name: "nqueens", arguments: "14", inputs: &[] },
    Workload { name: "knapsack", arguments: "400 2", inputs: &[] },
    // Unsatisfiable, so that the order of the search makes no difference to the work.
    Workload { name: "sat", arguments: "random 220 2", inputs: &[] },
    // Products of two primes of 64 bits, the hardest that fit; several, to average out luck.
    Workload {
        name: "primefactors",
        arguments: "129954873914954697635902902568054845317 287149908563213202332163910011056395939 \
                    128494607987492923880001426690191627989 209927092153553911059611134265153104559",
        inputs: &[],
    },
    Workload {
        name: "align",
        arguments: "DNA 10 1",
        inputs: &[
            ("queries", include_bytes!("../../sample-apps/align/data/dengue1.fasta")),
            // Two pairs: in a single pair, only the blocks of one antidiagonal can be done at once.
            (
                "subjects",
                concat!(
                    include_str!("../../sample-apps/align/data/dengue1.fasta"),
                    include_str!("../../sample-apps/align/data/dengue2.fasta"),
                )
                .as_bytes(),
            ),
        ],
    },
    Workload {
        name: "setcover",
        arguments: "",
        inputs: &[("scp", include_bytes!("../../sample-apps/setcover/data/stn45.txt"))],
    },
    Workload {
        name: "grammar",
        arguments: "3 6",
        inputs: &[("train", include_bytes!("../../sample-apps/grammar/data/abbadingo_1.txt"))],
    },
    // Begins with the best tour, so that the order of the search makes no difference to the work.
    Workload {
        name: "tsp",
        arguments: "52 7",
        inputs: &[(
            "tour",
            b"TOUR_SECTION
              1 11 51 16 46 45 42 9 32 15 8 2 25 34 7 50 35 13 38 21 47 6 19 49 24 10 40 18 30 48 37 26 41 44
              28 29 33 4 3 17 31 12 39 52 5 14 23 27 43 20 22 36",
        )],
    },
    Workload {
        name: "qap",
        arguments: "",
        inputs: &[("dat", include_bytes!("../../sample-apps/qap/data/nug14.dat"))],
    },
    Workload { name: "barneshut", arguments: "40000 12", inputs: &[] },
    // Counting: a search that is divided visits positions that a serial one does not.
    Workload { name: "othello", arguments: "perft 11", inputs: &[] },
    Workload { name: "raytracer", arguments: "3", inputs: &[] },
];

/// The native result of the plain version of the app `name`, with the inputs of its workload.
pub fn native(name: &str, arguments: &str) -> Result<String> {
    for (input, bytes) in WORKLOADS.iter().filter(|workload| workload.name == name).flat_map(|it| it.inputs) {
        sateen::testing::set_input(input, *bytes);
    }
    let mut words = Words(black_box(arguments).split_ascii_whitespace());
    match name {
        "fib" => shown(fib::plain(words.next()?)),
        "nqueens" => shown(nqueens::plain(words.next()?)),
        "knapsack" => shown(knapsack::plain(Some(words.next()?), Some(words.next()?))),
        "sat" => shown(sat::plain(Some(words.next()?), Some(words.next()?), Some(words.next()?))),
        "primefactors" => shown(primefactors::plain(words.0.map(str::to_owned).collect())),
        "align" => shown(align::plain(Some(words.next()?), Some(words.next()?), Some(words.next()?))),
        "setcover" => shown(setcover::plain()),
        "grammar" => shown(grammar::plain(Some(words.next()?), Some(words.next()?))),
        "tsp" => shown(tsp::plain(words.next().ok(), words.next().ok())),
        "qap" => shown(qap::plain(words.next().ok(), words.next().ok())),
        "barneshut" => shown(barneshut::plain(words.next()?, words.next()?)),
        "othello" => shown(othello::plain(words.0.map(str::to_owned).collect())),
        "raytracer" => shown(raytracer::plain(Some(words.next()?)).map(|picture| fingerprint(&picture))),
        "coarse" => Ok(coarse::plain(words.next()?, words.next()?).to_string()),
        _ => bail!("there is no workload `{name}`"),
    }
}

/// A text that identifies an output of bytes.
pub fn fingerprint(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{} bytes, {:016x}", bytes.len(), hasher.finish())
}

fn shown<T: Display, E: Display>(result: Result<T, E>) -> Result<String> {
    result.map(|value| value.to_string()).map_err(|error| anyhow!("{error}"))
}

struct Words<'a>(SplitAsciiWhitespace<'a>);

impl Words<'_> {
    fn next<T: FromStr>(&mut self) -> Result<T> {
        let word = self.0.next().context("an argument is missing")?;
        word.parse().map_err(|_| anyhow!("the argument `{word}` is of another type"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_run_natively() {
        assert_eq!(native("fib", "20").ok().as_deref(), Some("6765"));
        assert_eq!(native("nqueens", "8").ok().as_deref(), Some("92"));
        assert_eq!(native("coarse", "2 9").ok(), Some(coarse::main(2, 9).to_string()));
        assert_eq!(native("primefactors", "12 7").ok().as_deref(), Some("12: 2 2 3\n7: 7"));
        assert!(native("tsp", "52 7").is_ok_and(|answer| answer.starts_with("5944\n1 11 ")));
        assert!(native("barneshut", "10 1").is_ok_and(|answer| answer.contains('\n')));
        assert_eq!(native("othello", "perft 4").ok().as_deref(), Some("244"));
        assert_ne!(native("raytracer", "0").ok(), native("raytracer", "1").ok());
        assert!(native("sat", "random 20 1").is_ok_and(|answer| answer.starts_with("s ")));
        assert!(native("fib", "x").is_err() && native("fib", "").is_err() && native("none", "1").is_err());
    }
}
