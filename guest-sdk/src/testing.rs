//! For an app's own tests, which run without a grid; `sateen test` also runs those marked `#[sateen::test]` in
//! sandboxes.

#[cfg(not(target_family = "wasm"))]
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    path::Path,
};

#[cfg(not(target_family = "wasm"))]
use crate::{Outcome, Output};

/// The environment variable with the folder to which tests write the values that they return.
#[cfg(not(target_family = "wasm"))]
const OUTCOMES: &str = "SATEEN_TEST_OUTCOMES";

#[cfg(not(target_family = "wasm"))]
thread_local! {
    static INPUTS: RefCell<BTreeMap<String, Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
    /// How often they were set.
    static EDITION: Cell<u64> = const { Cell::new(0) };
}

/// Sets the input `name` for the tests of this thread, as `--input` does for a run.
#[cfg(not(target_family = "wasm"))]
pub fn set_input(name: &str, bytes: impl Into<Vec<u8>>) {
    let bytes = bytes.into();
    INPUTS.with_borrow_mut(|inputs| inputs.insert(name.to_owned(), bytes));
    EDITION.set(EDITION.get() + 1);
}

/// It cannot be used in a sandbox: there, inputs belong to the run and are known before it begins.
///
/// # Panics
/// Always.
#[cfg(target_family = "wasm")]
pub fn set_input(name: &str, _bytes: impl Into<Vec<u8>>) {
    panic!("a sandbox has its inputs from the start; mark the test #[sateen::test(inputs({name} = BYTES))]");
}

/// Ends the test `name` with the value that it returned, and writes the value for `sateen test` to compare.
///
/// # Panics
/// If it returned an error.
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
pub fn observe(name: &str, output: impl Output) {
    let mut outcome = Vec::new();
    match output.into_outcome() {
        Outcome::Text(text) => {
            outcome.push(b't');
            outcome.extend(text.into_bytes());
        }
        Outcome::Bytes(bytes) => {
            outcome.push(b'b');
            outcome.extend(bytes);
        }
        Outcome::Failed(why) | Outcome::BadInput(why) => panic!("{name} returned an error: {why}"),
    }
    let Some(folder) = std::env::var_os(OUTCOMES) else { return };
    let path = Path::new(&folder).join(name);
    if let Err(error) = std::fs::write(&path, outcome) {
        panic!("{}: {error}", path.display());
    }
}

/// A test's inputs as one byte string, for `sateen test`: each name and each content preceded by its length, four
/// bytes, the lowest first.
#[doc(hidden)]
pub fn pack_inputs(inputs: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut packed = Vec::new();
    for (name, bytes) in inputs {
        for part in [name.as_bytes(), bytes] {
            let length = u32::try_from(part.len()).expect("a sandbox holds no more than four gibibytes");
            packed.extend(length.to_le_bytes());
            packed.extend(part);
        }
    }
    packed
}

/// Calls `read`, which reads the input `name`, with `whole` cut short in all possible ways, and with each of its
/// bytes replaced by others.
///
/// # Panics
/// If `read` panics, or if it returns an error without the input's name and one of its lines, which
/// [`BadInput::at_line`](crate::BadInput::at_line) adds.
pub fn damage_input<T>(
    name: &str,
    whole: impl AsRef<[u8]>,
    mut read: impl FnMut() -> Result<T, crate::BadInput>,
) {
    const OTHERS: &[u8] = b"\0\n -.09x\xff";
    let whole = whole.as_ref();
    let mut try_with = |bytes: &[u8]| {
        set_input(name, bytes);
        let Err(error) = read() else { return };
        let message = error.to_string();
        let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count();
        let line = message.strip_prefix(&format!("input `{name}`, line "));
        let line = line.and_then(|rest| rest.split_once(": ")?.0.parse().ok());
        assert!(
            line.is_some_and(|line| (1..=lines).contains(&line)),
            "`{message}` names no line of {:?}",
            String::from_utf8_lossy(bytes)
        );
    };
    for length in 0..=whole.len() {
        try_with(&whole[..length]);
    }
    let mut damaged = whole.to_vec();
    for (at, byte) in whole.iter().enumerate() {
        for other in OTHERS {
            damaged[at] = *other;
            try_with(&damaged);
        }
        damaged[at] = *byte;
    }
}

#[cfg(not(target_family = "wasm"))]
pub(crate) fn read(name: &str) -> Option<Vec<u8>> {
    INPUTS.with_borrow(|inputs| inputs.get(name).cloned())
}

/// Another number whenever inputs are set.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn edition() -> u64 {
    EDITION.get()
}

/// On this machine, `Pending::spawn` refuses.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn without_spawns<T>(make: impl FnOnce() -> T) -> T {
    make()
}

/// Nobody asks here which inputs were used.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn note_use(_name: &str) {}
