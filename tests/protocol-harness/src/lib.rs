//! The protocol's machines, driven from bytes.
//!
//! All inputs of a machine are an enum that can be encoded ([`host::Input`],
//! [`coordinator::Input`]), so any bytes are a sequence of inputs, each with the time that passes before it.
//! Fuzz targets (`tests/fuzz/`) run such sequences; their corpus comes from the stories, which drive their
//! machines in this way. After every input, the outputs are drained and the laws are checked that
//! must hold whatever others do: no panic, no more output than the state accounts for, tables within
//! their bounds, no timer that is due again at once unless less work is left.
//!
//! [`runtime`] is a model of a host's runtime, on which the stories and the simulator are built.

pub mod coordinator;
pub mod frames;
pub mod host;
pub mod record;
pub mod runtime;

use serde::de::DeserializeOwned;

/// Drives all machines from the same bytes; exported so that the wasm module contains the whole protocol.
#[unsafe(no_mangle)]
pub extern "C" fn drive(length: u32) -> u64 {
    let bytes: Vec<u8> = (0..length).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    frames::drive(&bytes) + host::drive(&bytes) + coordinator::drive(&bytes)
}

/// The next value in `bytes`; unreadable bytes are skipped one at a time, so that a mutated
/// sequence remains a sequence.
fn next<T: DeserializeOwned>(bytes: &mut &[u8]) -> Option<T> {
    while !bytes.is_empty() {
        match postcard::take_from_bytes(bytes) {
            Ok((value, rest)) => {
                *bytes = rest;
                return Some(value);
            }
            Err(_) => *bytes = &bytes[1..],
        }
    }
    None
}
