//! A task: one job with an instance of its own, from the first instruction to the last.

use std::sync::Arc;

use wasmtime::{AsContextMut, ModuleExport, Store};

use super::Guest;
use super::heartbeat::{heartbeat, sample};
use super::memory::broken;
use super::stopped::stop_of;
use crate::failure::{JobFailure, Stop};
use crate::limits::LimitExceeded;
use crate::scheduler::{Job, Shared, TaskId};

/// What a task is to do.
pub enum Assignment {
    /// An entry point, with the words of the command line.
    Root { name: String, export: ModuleExport },
    /// A job that was exposed and taken.
    Job(Arc<Job>),
}

/// Runs `assignment` in a pristine instance; gives its encoded result, and the length of its chain.
pub async fn run_task(
    shared: Arc<Shared>,
    task: TaskId,
    assignment: Assignment,
    parameters: Vec<u8>,
) -> Result<(Vec<u8>, std::time::Duration), Stop> {
    let app = shared.app.clone();
    let limits = shared.limits().clone();
    let length = parameters.len() as u32;
    let export = match &assignment {
        Assignment::Root { export, .. } => *export,
        Assignment::Job(job) => app.0.jobs[job.kind].1,
    };
    let mut store = Store::new(&app.0.engine.inner, Guest::new(shared, task, assignment, parameters));
    store.limiter(|guest| guest);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(heartbeat);

    let result = call(&mut store, export, length).await;
    sample(&mut store.as_context_mut(), false);
    let (address, length) = result.map_err(|error| stop_of(&mut store, &error))?;
    let guest = store.data_mut();
    let span = guest.clock.span();
    let name = guest.job_name().to_owned();
    if length > limits.output_bytes_max {
        let what = format!("the result of `{name}`");
        return Err(Stop::Limit(LimitExceeded::Output {
            what,
            asked: length as u64,
            limit: limits.output_bytes_max,
        }));
    }
    let memory = guest.memory;
    let result = memory.and_then(|memory| {
        memory.data(&store).get(address..address.checked_add(length)?).map(<[u8]>::to_vec)
    });
    match result {
        Some(result) => Ok((result, span)),
        None => Err(Stop::Failed(JobFailure {
            job: name,
            message: format!(
                "the module breaks the ABI: its result is at {address}, {length} bytes long, outside its memory"
            ),
            backtrace: Vec::new(),
        })),
    }
}

/// The address and length of the result.
async fn call(
    store: &mut Store<Guest>,
    export: ModuleExport,
    length: u32,
) -> wasmtime::Result<(usize, usize)> {
    let app = store.data().shared.app.clone();
    let instance = app.0.instance_pre.instantiate_async(&mut *store).await?;
    let memory =
        instance.get_module_export(&mut *store, &app.0.memory).and_then(wasmtime::Extern::into_memory);
    store.data_mut().memory = memory;
    let stack_pointer = (app.0.stack_pointer.as_ref())
        .and_then(|export| instance.get_module_export(&mut *store, export)?.into_global());
    store.data_mut().stack_pointer = stack_pointer;
    let function = instance.get_module_export(&mut *store, &export).and_then(wasmtime::Extern::into_func);
    let Some(function) = function else {
        return Err(broken(store.data(), "an export is no function".to_owned()));
    };
    let function = function
        .typed::<u32, u64>(&mut *store)
        .map_err(|error| broken(store.data(), format!("an export has another type: {error}")))?;
    let place = function.call_async(&mut *store, length).await?;
    Ok(((place >> 32) as usize, place as u32 as usize))
}
