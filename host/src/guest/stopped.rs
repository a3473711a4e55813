//! Why a call into a guest failed.

use wasmtime::{AsContextMut, Trap};

use super::Guest;
use crate::failure::{JobFailure, Stop, classify};

/// The failure of a guest, until it traps because of it.
#[derive(Default)]
pub struct Failures {
    child: Option<JobFailure>,
    panic: Option<Stop>,
    has_caught: bool,
}

impl Failures {
    /// The error of the child that was synced last.
    pub fn note_child(&mut self, failure: JobFailure) {
        self.child = Some(failure);
    }

    pub fn take_child(&mut self) -> Option<JobFailure> {
        self.child.take()
    }

    /// The reason of the trap that ends a panic.
    pub fn note_panic(&mut self, stop: Stop) {
        self.panic = Some(stop);
    }

    pub fn take_panic(&mut self) -> Option<Stop> {
        self.panic.take()
    }

    /// A call that the guest made through the host has trapped.
    pub fn note_caught(&mut self) {
        self.has_caught = true;
    }

    /// Whether the instance's memory is as a trap left it: what the job was doing there, a panic included, has no end.
    pub fn has_caught(&self) -> bool {
        self.has_caught
    }
}

/// The meaning of `error`, which ended a call into the guest.
pub fn stop_of(mut store: impl AsContextMut<Data = Guest>, error: &wasmtime::Error) -> Stop {
    let mut store = store.as_context_mut();
    let off_stack = is_off_its_stack(&mut store);
    let guest = store.data_mut();
    let is_trap = matches!(error.downcast_ref(), Some(Trap::UnreachableCodeReached));
    if is_trap
        && guest.job.signal().is_stopped()
        && let Err(stop) = guest.check()
    {
        return stop;
    }
    let panic = guest.failures.take_panic();
    let stack_bytes_max = guest.registry.limits().stack_bytes_max;
    classify(error, guest.registry.app.job_functions(), guest.job_name(), stack_bytes_max, panic, off_stack)
}

/// Rust and C guests keep a stack at the start of their memory, growing down: beyond its end, the pointer to it
/// wraps around to the very top of the 32-bit space. Unknown if it is not exported.
fn is_off_its_stack(store: &mut wasmtime::StoreContextMut<'_, Guest>) -> Option<bool> {
    let (pointer, memory) = (store.data().exports.stack_pointer()?, store.data().exports.memory()?);
    let pointer = pointer.get(&mut *store).i32()?.cast_unsigned();
    Some(u64::from(pointer) > memory.data_size(&*store) as u64)
}
