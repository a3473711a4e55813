//! Access to a guest's hostile memory: every address and length is checked, and no reference is kept.

use sateen_protocol::Bytes;
use wasmtime::{Caller, Global, Memory};

use super::Guest;
use crate::failure::{JobFailure, Stop};
use crate::limits::LimitExceeded;

/// Names of jobs and inputs are short.
pub const NAME_BYTES_MAX: usize = 256;

/// The exports of an instance that the host uses.
#[derive(Clone, Copy, Default)]
pub struct Exports {
    memory: Option<Memory>,
    stack_pointer: Option<Global>,
}

impl Exports {
    pub fn new(memory: Option<Memory>, stack_pointer: Option<Global>) -> Self {
        Self { memory, stack_pointer }
    }

    /// Its memory, once it is instantiated.
    pub fn memory(&self) -> Option<Memory> {
        self.memory
    }

    /// Points to the end of the stack that the guest keeps in its memory, if the guest exports it.
    pub fn stack_pointer(&self) -> Option<Global> {
        self.stack_pointer
    }
}

/// An error that the guest itself caused by breaking the ABI.
pub fn broken(guest: &Guest, message: String) -> wasmtime::Error {
    wasmtime::Error::new(Stop::Failed(JobFailure {
        job: guest.job_name().to_owned(),
        message: format!("the module breaks the ABI: {message}"),
        backtrace: Vec::new(),
    }))
}

fn memory(caller: &Caller<'_, Guest>) -> wasmtime::Result<Memory> {
    let guest = caller.data();
    guest.exports.memory().ok_or_else(|| broken(guest, "it calls an import before it is started".to_owned()))
}

/// A copy of `length` bytes at `address`, at most `limit` of them; `what` begins a sentence about them in errors, like
/// `a text is`.
pub fn read(
    caller: &Caller<'_, Guest>,
    address: u32,
    length: u32,
    limit: usize,
    what: &str,
) -> wasmtime::Result<Bytes> {
    part(caller, address, length, limit, what).map(Bytes::from)
}

/// The same without a copy.
pub fn part<'a>(
    caller: &'a Caller<'_, Guest>,
    address: u32,
    length: u32,
    limit: usize,
    what: &str,
) -> wasmtime::Result<&'a [u8]> {
    if length as usize > limit {
        return Err(wasmtime::Error::new(Stop::Limit(LimitExceeded::Output {
            what: what.to_owned(),
            asked: u64::from(length),
            limit,
        })));
    }
    let data = memory(caller)?.data(caller);
    let bytes =
        (address as usize).checked_add(length as usize).and_then(|end| data.get(address as usize..end));
    bytes.ok_or_else(|| {
        broken(caller.data(), format!("{what} at {address}, {length} bytes long, outside its memory"))
    })
}

/// At most `limit` bytes at `address`, as text; bytes that are not UTF-8 are replaced, longer text is cut.
pub fn read_text(
    caller: &Caller<'_, Guest>,
    address: u32,
    length: u32,
    limit: usize,
) -> wasmtime::Result<String> {
    let kept = (length as usize).min(limit) as u32;
    let bytes = read(caller, address, kept, limit, "a text is")?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if kept < length {
        text.push('…');
    }
    Ok(text)
}

/// Writes `bytes` at `address`.
pub fn write(caller: &mut Caller<'_, Guest>, address: u32, bytes: &[u8]) -> wasmtime::Result<()> {
    room(caller, address, bytes.len())?.copy_from_slice(bytes);
    Ok(())
}

/// Room for `length` bytes at `address`.
pub fn room<'a>(
    caller: &'a mut Caller<'_, Guest>,
    address: u32,
    length: usize,
) -> wasmtime::Result<&'a mut [u8]> {
    let memory = memory(caller)?;
    let start = address as usize;
    match start.checked_add(length).filter(|end| *end <= memory.data_size(&*caller)) {
        Some(end) => Ok(&mut memory.data_mut(caller)[start..end]),
        None => {
            Err(broken(caller.data(), format!("it wants {length} bytes at {address}, outside its memory")))
        }
    }
}
