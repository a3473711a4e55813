//! For an app's own tests, which run without a grid.

#[cfg(not(target_family = "wasm"))]
use std::{cell::RefCell, collections::BTreeMap};

#[cfg(not(target_family = "wasm"))]
thread_local! {
    static INPUTS: RefCell<BTreeMap<String, Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Gives the input `name` to the tests of this thread, as `--input` does to a run.
#[cfg(not(target_family = "wasm"))]
pub fn set_input(name: &str, bytes: impl Into<Vec<u8>>) {
    let bytes = bytes.into();
    INPUTS.with_borrow_mut(|inputs| inputs.insert(name.to_owned(), bytes));
}

/// Gives `read`, which takes the input `name`, that input in all ways in which `whole` can be cut short, and with
/// each of its bytes replaced by others.
///
/// # Panics
/// When `read` does, or when what it refuses is refused without the input's name and one of its lines, as
/// [`BadInput::at_line`](crate::BadInput::at_line) gives them.
#[cfg(not(target_family = "wasm"))]
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
