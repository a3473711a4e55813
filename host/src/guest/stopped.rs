//! Why a call into a guest came to a bad end.

use wasmtime::AsContextMut;

use super::Guest;
use crate::failure::{Stop, classify};

/// What `error`, which ended a call into the guest, means.
pub fn stop_of(mut store: impl AsContextMut<Data = Guest>, error: &wasmtime::Error) -> Stop {
    let mut store = store.as_context_mut();
    let off_stack = is_off_its_stack(&mut store);
    let guest = store.data_mut();
    let panic = guest.panic.take();
    let stack_bytes_max = guest.shared.limits().stack_bytes_max;
    classify(error, guest.shared.app.job_functions(), guest.job_name(), stack_bytes_max, panic, off_stack)
}

/// Rust and C guests keep a stack at the start of their memory, growing down: beyond its end, the
/// pointer to it wraps around to the very top of the 32-bit space. Unknown when it is not exported.
fn is_off_its_stack(store: &mut wasmtime::StoreContextMut<'_, Guest>) -> Option<bool> {
    let (pointer, memory) = (store.data().stack_pointer?, store.data().memory?);
    let pointer = pointer.get(&mut *store).i32()?.cast_unsigned();
    Some(u64::from(pointer) > memory.data_size(&*store) as u64)
}
