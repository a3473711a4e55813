//! The arguments of programs that run many seeds.

use crate::families::Family;

/// Their common arguments.
#[derive(Debug)]
pub struct Arguments {
    /// The number of seeds.
    pub seeds: u64,
    /// The first seed.
    pub first: u64,
    /// Faults of these families occur.
    pub families: Vec<Family>,
    /// The figure goes to stdout as JSON.
    pub is_json: bool,
}

impl Arguments {
    /// Reads `words`. Without `--faults`, these families are used; `takes` says whether the program has a flag that
    /// others lack.
    ///
    /// # Errors
    /// An unknown word, or a wrong value, in a sentence.
    pub fn parse(
        mut words: impl Iterator<Item = String>,
        families: Vec<Family>,
        mut takes: impl FnMut(&str) -> bool,
    ) -> Result<Self, String> {
        let mut arguments = Self { seeds: 1_000, first: 0, families, is_json: false };
        while let Some(word) = words.next() {
            let mut number = || {
                let number = words.next().and_then(|text| text.parse().ok());
                number.ok_or_else(|| format!("{word} needs a number"))
            };
            match word.as_str() {
                "--json" => arguments.is_json = true,
                "--seeds" => arguments.seeds = number()?,
                "--first" => arguments.first = number()?,
                "--faults" => {
                    arguments.families = Family::parse(&words.next().unwrap_or_default())
                        .map_err(|name| format!("there is no family of faults {name:?}"))?;
                }
                other if takes(other) => {}
                other => return Err(format!("unknown argument {other:?}")),
            }
        }
        Ok(arguments)
    }
}
