//! `sateen test`: an app's tests on this machine and in sandboxes, compared with one another.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use sateen_host::{App, Engine, Limits, LogLine, ModuleCache, Output, Run, RunError, RunOptions, inspect};

use crate::build::{Product, cargo, compile, find_app, no_cargo};
use crate::exit::{APP_FAILED, Failure, visible, write_line};
use crate::files::print;
use crate::flags::Test as Flags;
use crate::run::open_cache;

/// Prefix of the entry points of tests.
const TEST: &str = "test:";
/// Prefix of the entry points that return a test's inputs.
const INPUTS: &str = "inputs:";

/// A setting in which tests run: how jobs are distributed.
#[derive(Clone, Copy)]
struct Setting {
    workers: usize,
    pristine: bool,
}

const SETTINGS: [Setting; 5] = [
    Setting { workers: 1, pristine: false },
    Setting { workers: 2, pristine: false },
    Setting { workers: 4, pristine: false },
    Setting { workers: 1, pristine: true },
    Setting { workers: 4, pristine: true },
];

impl Setting {
    fn name(self) -> String {
        let (workers, s) = (self.workers, if self.workers == 1 { "" } else { "s" });
        format!("{workers} worker{s}{}", if self.pristine { ", pristine" } else { "" })
    }
}

pub fn test(flags: &Flags) -> Result<(), Failure> {
    let (package, manifest) = find_app(flags.manifest_path.as_deref(), &flags.cargo)?;
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::usage(format!("a temporary folder cannot be made: {error}")))?;
    natively(&manifest, flags, folder.path())?;

    let bytes = compile(&manifest, flags.stack, &flags.cargo, Product::Tests)?.module;
    let limits = Limits { wall_time_max: Some(flags.time_limit), ..Limits::default() };
    let inspection = inspect(&bytes, &limits);
    if let Some(why) = inspection.refusal() {
        return Err(Failure::usage(format!("the tests of {package} compile, but would be refused: {why}")));
    }
    let names: Vec<&str> = (inspection.mains.iter())
        .filter_map(|name| name.strip_prefix(TEST))
        .filter(|name| flags.filter.is_none() || folder.path().join(name).is_file())
        .collect();
    if names.is_empty() {
        let what =
            flags.filter.as_ref().map_or(String::new(), |filter| format!(" whose name contains `{filter}`"));
        return Err(Failure::usage(format!(
            "{package} has no test for sandboxes{what}; put #[sateen::test] in the place of #[test] on tests in its library"
        )));
    }
    let engine = Engine::new(&limits, false)?;
    let bench = Bench::new(&engine, &bytes, open_cache().as_ref(), flags)?;
    let (mut failed, mut found) = (Vec::new(), Vec::new());
    for name in &names {
        let verdict = bench.verdict(name, folder.path())?;
        if verdict != Verdict::Same {
            failed.push(*name);
            found.push(verdict);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{} of {} tests do not give everywhere what they give on this machine: {}{}",
        failed.len(),
        names.len(),
        failed.join(", "),
        hint(&found)
    );
    Err(Failure::new(APP_FAILED, message))
}

/// How the values of a test compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Same,
    /// All sandboxes return one value, and this machine another.
    DiffersHere,
    /// Sandboxes return several values.
    Differs,
    /// The test did not run on this machine, or fails in a sandbox: its error says why.
    Fails,
}

impl Verdict {
    /// Of the `native` value and those of all sandboxes; none of one in which the test failed.
    fn of(native: &Output, sandboxes: &[Option<Output>]) -> Self {
        let Some(values) = sandboxes.iter().map(Option::as_ref).collect::<Option<Vec<&Output>>>() else {
            return Self::Fails;
        };
        if values.windows(2).any(|pair| pair[0] != pair[1]) {
            Self::Differs
        } else if values.first().is_some_and(|value| *value != native) {
            Self::DiffersHere
        } else {
            Self::Same
        }
    }
}

/// What usually leads to such differences.
fn hint(found: &[Verdict]) -> String {
    let mut hints = Vec::new();
    if found.contains(&Verdict::DiffersHere) {
        hints.push(
            "what differs between this machine and all sandboxes are addresses, the 32 bits of usize, the last bits of \
             some float functions, and generators and hashes that depend on these: see docs/model.md, \"What differs from cargo test\"",
        );
    }
    if found.contains(&Verdict::Differs) {
        hints.push(
            "what differs between sandboxes are statics, addresses, and the order of std's hash maps: see docs/model.md, \"A \
             fresh sandbox and a used one\"",
        );
    }
    if hints.is_empty() { String::new() } else { format!(" ({})", hints.join("; ")) }
}

/// Runs `cargo test`; its tests write the values that they return to `folder`.
fn natively(manifest: &Path, flags: &Flags, folder: &Path) -> Result<(), Failure> {
    let status = cargo()
        .args(["test", "--manifest-path"])
        .arg(manifest)
        // Check parameters and results, whatever this user's settings are.
        .args(["--config", "profile.test.debug-assertions=true"])
        .args(flags.cargo.of_features())
        .args(flags.cargo.of_dependencies())
        .args(&flags.filter)
        .env("SATEEN_TEST_OUTCOMES", folder)
        // stdout is reserved for the output of this command.
        .stdout(std::io::stderr())
        .status()
        .map_err(no_cargo)?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(APP_FAILED, "the app's tests fail on this machine"))
}

/// The module with the tests, ready to run.
struct Bench {
    app: App,
    log: Arc<dyn Fn(LogLine) + Send + Sync>,
}

impl Bench {
    fn new(
        engine: &Engine,
        module: &[u8],
        cache: Option<&ModuleCache>,
        flags: &Flags,
    ) -> Result<Self, Failure> {
        let log: Arc<dyn Fn(LogLine) + Send + Sync> = if flags.verbose {
            Arc::new(|line: LogLine| write_line(&visible(&format!("[{}] {}", line.job, line.text))))
        } else {
            Arc::new(|_| {})
        };
        Ok(Self { app: App::load(engine, module, cache)?, log })
    }

    /// Runs the test `name` in every setting, prints the outcome, and compares the values with that of this machine.
    fn verdict(&self, name: &str, folder: &Path) -> Result<Verdict, Failure> {
        let Some(native) = native_output(&folder.join(name)) else {
            report(&format!("test {} ... did not run on this machine\n", visible(name)))?;
            return Ok(Verdict::Fails);
        };
        let inputs = self.inputs(name)?;
        let (mut lines, mut outputs) = (String::new(), Vec::new());
        for setting in SETTINGS {
            let ended = self.run(&format!("{TEST}{name}"), setting, inputs.clone());
            let what = match &ended {
                Ok(output) if *output == native => None,
                Ok(output) => Some(shown(output, &native)),
                Err(RunError::Cancelled) => return Err(RunError::Cancelled.into()),
                Err(error) => Some(format!("failed: {error}")),
            };
            if let Some(what) = what {
                lines += &format!("    {:<20} {}\n", setting.name(), visible(&what.replace('\n', "; ")));
            }
            outputs.push(ended.ok());
        }
        if lines.is_empty() {
            report(&format!("test {} ... the same everywhere\n", visible(name)))?;
            return Ok(Verdict::Same);
        }
        let here = visible(&shown(&native, &native).replace('\n', "; "));
        report(&format!("test {} ... DIFFERS\n    {:<20} {here}\n{lines}", visible(name), "this machine"))?;
        Ok(Verdict::of(&native, &outputs))
    }

    fn inputs(&self, name: &str) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let entry = format!("{INPUTS}{name}");
        if !self.app.inspection().mains.contains(&entry) {
            return Ok(BTreeMap::new());
        }
        let packed = self.run(&entry, SETTINGS[0], BTreeMap::new())?;
        let unpacked = match &packed {
            Output::Bytes(packed) => unpack(packed),
            Output::Text(_) => None,
        };
        unpacked.ok_or_else(|| {
            Failure::usage(format!("the inputs of the test {name} are for another version of Sateen"))
        })
    }

    fn run(
        &self,
        function: &str,
        setting: Setting,
        inputs: BTreeMap<String, Vec<u8>>,
    ) -> Result<Output, RunError> {
        let options = RunOptions {
            function: function.to_owned(),
            inputs,
            threads: setting.workers,
            pristine: setting.pristine,
            log: self.log.clone(),
            ..RunOptions::default()
        };
        Ok(Run::start(&self.app, options)?.wait()?.output)
    }
}

/// The value that a test wrote, if it ran.
fn native_output(path: &Path) -> Option<Output> {
    let outcome = std::fs::read(path).ok()?;
    match outcome.split_first()? {
        (b't', text) => String::from_utf8(text.to_vec()).ok().map(Output::Text),
        (b'b', bytes) => Some(Output::Bytes(bytes.to_vec())),
        _ => None,
    }
}

/// Names and contents, each preceded by its length in four bytes, the lowest first.
fn unpack(mut packed: &[u8]) -> Option<BTreeMap<String, Vec<u8>>> {
    let mut part = || -> Option<Option<Vec<u8>>> {
        let Some((length, rest)) = packed.split_first_chunk::<4>() else {
            return packed.is_empty().then_some(None);
        };
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        packed = rest;
        Some(Some(part.to_vec()))
    };
    let mut inputs = BTreeMap::new();
    while let Some(name) = part()? {
        inputs.insert(String::from_utf8(name).ok()?, part()??);
    }
    Some(inputs)
}

/// An output for people, from a little before the first byte that differs from that of `other`.
fn shown(output: &Output, other: &Output) -> String {
    const BEFORE: usize = 30;
    const CHARACTERS_MAX: usize = 100;
    let differs = |one: &[u8], other: &[u8]| {
        let at = one.iter().zip(other).position(|(one, other)| one != other);
        at.or((one.len() != other.len()).then_some(one.len().min(other.len())))
    };
    match (output, other) {
        (Output::Bytes(bytes), Output::Bytes(other)) => match differs(bytes, other) {
            Some(at) => format!("{} bytes, others from byte {at} on", bytes.len()),
            None => format!("{} bytes", bytes.len()),
        },
        (Output::Bytes(bytes), Output::Text(_)) => format!("{} bytes", bytes.len()),
        (Output::Text(text), other) => {
            let at = match other {
                Output::Text(other) => differs(text.as_bytes(), other.as_bytes()),
                Output::Bytes(_) => None,
            };
            let from = at.map_or(0, |at| text.floor_char_boundary(at.saturating_sub(BEFORE)));
            let mut part: String = text[from..].chars().take(CHARACTERS_MAX).collect();
            if from > 0 {
                part.insert(0, '…');
            }
            if text[from..].chars().nth(CHARACTERS_MAX).is_some() {
                part.push('…');
            }
            part
        }
    }
}

/// Prints the outcome of a test. Without a reader, the other tests still run, as the exit code depends on them.
fn report(outcome: &str) -> Result<(), Failure> {
    print(outcome.as_bytes()).or_else(Failure::unless_reader_gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_unpacked_whole_or_not_at_all() {
        let packed = b"\x01\0\0\0a\x02\0\0\0xy\x01\0\0\0b\0\0\0\0";
        let inputs = BTreeMap::from([("a".to_owned(), b"xy".to_vec()), ("b".to_owned(), Vec::new())]);
        assert_eq!(unpack(packed), Some(inputs));
        assert_eq!(unpack(b""), Some(BTreeMap::new()));
        let first = 11;
        for length in (1..packed.len()).filter(|length| *length != first) {
            assert_eq!(unpack(&packed[..length]), None, "{length} bytes");
        }
    }

    /// Statics and the order of hash maps were blamed for it.
    #[test]
    fn the_hint_is_about_what_differs() {
        let text = |text: &str| Output::Text(text.to_owned());
        let of =
            |sandboxes: [Option<&str>; 3]| Verdict::of(&text("1"), &sandboxes.map(|value| value.map(text)));
        assert_eq!(of([Some("1"); 3]), Verdict::Same);
        assert_eq!(of([Some("2"); 3]), Verdict::DiffersHere);
        assert_eq!(of([Some("1"), Some("1"), Some("2")]), Verdict::Differs);
        assert_eq!(of([Some("2"), None, Some("2")]), Verdict::Fails);
        let here = hint(&[Verdict::Fails, Verdict::DiffersHere]);
        assert!(
            here.contains("usize") && here.contains("docs/model.md") && !here.contains("statics"),
            "{here}"
        );
        let between = hint(&[Verdict::Differs]);
        assert!(between.contains("statics") && !between.contains("usize"), "{between}");
        let both = hint(&[Verdict::Differs, Verdict::DiffersHere]);
        assert!(both.contains("statics") && both.contains("usize"), "{both}");
        assert_eq!(hint(&[Verdict::Fails]), "");
    }

    #[test]
    fn a_difference_is_shown_from_a_little_before_it() {
        let text = |text: &str| Output::Text(text.to_owned());
        assert_eq!(shown(&text("12"), &text("13")), "12");
        let long = "é".repeat(300);
        let other = format!("{}x{}", "é".repeat(200), "é".repeat(99));
        let part = shown(&text(&other), &text(&long));
        assert!(part.starts_with('…') && part.contains('x') && part.ends_with('…'), "{part}");
        let bytes = |bytes: &[u8]| Output::Bytes(bytes.to_vec());
        assert_eq!(shown(&bytes(b"abc"), &bytes(b"ab")), "3 bytes, others from byte 2 on");
    }
}
