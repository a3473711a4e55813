//! The guest's side of the ABI: entry points, latent jobs, and the imports behind the public API.

use std::hash::Hasher;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::lost::Lost;
use crate::{Arguments, BadInput, Job, Outcome, Output, codec, prepared, shape};

mod abi;
mod latent;
pub mod objects;

pub use abi::{log, progress};
pub use latent::{Kind, Members, Pending};

/// What `#[prepare]` needs of a guest.
pub mod preparing {
    use super::abi;

    pub use super::latent::without_spawns;

    /// The inputs of a run never change.
    pub fn edition() -> u64 {
        0
    }

    /// The host makes images without knowing which inputs jobs will use.
    pub fn note_use(name: &str) {
        abi::input(name);
    }
}

/// The body of the export that makes a prepared value, in an instance that has no job yet.
pub fn prepare(make: impl FnOnce()) {
    set_panic_hook();
    prepared::ahead(make);
}

/// The named inputs.
pub mod inputs {
    use super::abi;

    pub fn read(name: &str) -> Option<Vec<u8>> {
        abi::input(name).map(abi::take)
    }
}

/// Marks the module as one for this version of the ABI; never called.
#[unsafe(no_mangle)]
extern "C" fn sateen_abi_1() {}

/// Calls what `Pending::try_sync` prepared; the host stands between the two and catches traps.
#[unsafe(no_mangle)]
extern "C" fn sateen_attempt(argument: *mut u8) {
    latent::run_attempt(argument);
}

/// The body of a job's export: takes its encoded parameters, `length` bytes, and returns the location of its
/// encoded result, the address in the upper half and the length in the lower half.
pub fn run_job<J: Job>(length: usize) -> u64 {
    let parameters: J::Parameters = enter(length);
    // Before the guard, which may be the first to apply updates, and they are the program's work.
    latent::measure::begin();
    if let Some(guard) = J::GUARD {
        while !J::guard(&parameters) {
            abi::hold(guard);
        }
    }
    let result = J::call(parameters);
    latent::measure::end();
    leave(encode_result::<J>(&result))
}

/// Makes a value that every sandbox makes for itself.
#[inline(never)]
pub fn make<T>(place: &'static Location<'static>, key: &impl Serialize, make: impl FnOnce() -> T) -> T {
    let encoded = || objects::without_mentions(|| codec::encode(key));
    latent::measure::make(place, encoded, make)
}

/// This instance runs an entry point.
static ROOT: AtomicBool = AtomicBool::new(false);

fn is_root() -> bool {
    ROOT.load(Relaxed)
}

/// A result's bytes, checked.
fn encode_result<J: Job>(result: &J::Output) -> Vec<u8> {
    let bytes = codec::encode(result);
    if !IS_UNCHECKED && (is_short(&bytes) || J::kind().checks_result(&bytes)) {
        check(J::NAME, "result", result, &bytes, J::lost_result);
    }
    bytes
}

/// Only to measure the cost of checks.
const IS_UNCHECKED: bool = cfg!(sateen_unchecked);

/// The time of checking this many bytes does not matter.
fn is_short(bytes: &[u8]) -> bool {
    const SHORT_BYTES_MAX: usize = 4 << 10;
    bytes.len() <= SHORT_BYTES_MAX
}

/// Whether to check bytes that need not be checked: one in eight, because a check takes as long as encoding them
/// twice. The choice depends on the bytes, so it is the same when a job is redone.
fn is_chosen(bytes: &[u8]) -> bool {
    const EDGE: usize = 256;
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write_usize(bytes.len());
    hasher.write(&bytes[..bytes.len().min(EDGE)]);
    hasher.write(&bytes[bytes.len().saturating_sub(EDGE)..]);
    hasher.finish() & 7 == 0
}

/// The body of the export that returns the shapes of a job: `PARAMETERS -> RESULT`, with `_` for a type without a
/// shape. Returns the location like that of a result. `sateen build` calls it once, and puts the text into the module.
pub fn shapes<J: Job>() -> u64 {
    let text = |shape: Option<String>| shape.unwrap_or_else(|| "_".to_owned());
    let (parameters, result) = (text(shape::of::<J::Parameters>()), text(shape::of::<J::Output>()));
    leave(format!("{parameters} -> {result}").into_bytes())
}

/// Panics if `bytes` decode to something other than `value`.
#[inline(never)]
fn check<T: Serialize + DeserializeOwned>(job: &str, what: &str, value: &T, bytes: &[u8], lost: Lost<T>) {
    if let Err(error) = objects::without_mentions(|| codec::round_trip(value, bytes, lost)) {
        panic!("the {what} of the job `{job}` cannot travel to another machine: {error}");
    }
}

/// The body of an entry point's export: like `run_job`, with words as parameters.
pub fn run_main<T: Output>(length: usize, call: impl FnOnce(Arguments) -> Result<T, BadInput>) -> u64 {
    let words: Vec<String> = enter(length);
    ROOT.store(true, Relaxed);
    latent::measure::begin();
    let outcome = match call(Arguments::new(words)) {
        Ok(output) => output.into_outcome(),
        Err(BadInput(message)) => Outcome::BadInput(message),
    };
    latent::measure::end();
    leave(codec::encode(&outcome))
}

fn enter<T: DeserializeOwned>(length: usize) -> T {
    latent::attach();
    set_panic_hook();
    codec::decode(&abi::take(length)).unwrap_or_else(|error| undecodable("its parameters break", &error))
}

fn set_panic_hook() {
    // The hook must return. Otherwise, after an attempt was caught, the standard library would treat the next
    // panic as one within this hook, and its message would be lost.
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        objects::fail_if_within_update(&text);
        abi::panic(&text);
    }));
}

/// Ends this instance: the parameters or the result are not of this version.
#[cold]
fn undecodable(what: &str, error: &str) -> ! {
    abi::fail(abi::Fault::Encoding, &format!("{what} the ABI: {error}"))
}

/// The result stays where it is until the host has copied it and drops the instance.
fn leave(result: Vec<u8>) -> u64 {
    let result: &'static [u8] = result.leak();
    ((result.as_ptr() as u64) << 32) | result.len() as u64
}
