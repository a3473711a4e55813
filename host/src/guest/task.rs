//! A task: one job with an instance of its own, from the first instruction to the last.
//!
//! Short jobs of one parent share an instance, one after another, as they do when their parent calls them: each new
//! instance would cost more than a few of them. Its memory is mapped, protected and cleared, and each of these stops all
//! cores that compute for this process.

use std::sync::Arc;
use std::time::Duration;

use sateen_protocol::Bytes;
use wasmtime::{AsContextMut, Instance, ModuleExport, Store};

use super::Guest;
use super::heartbeat::{heartbeat, sample};
use super::memory::{Exports, broken};
use super::own_job::Assignment;
use super::stopped::stop_of;
use crate::failure::{JobFailure, Stop};
use crate::limits::LimitExceeded;
use crate::memory::Claim;
use crate::scheduler::{Object, Registry, Task};

/// How a task ended.
pub struct TaskEnd {
    /// The job's encoded result.
    pub result: Result<Bytes, Stop>,
    /// The length of its chain.
    pub span: Duration,
    /// Its work, and that of the children it has synced.
    pub work: Duration,
    /// The shared objects that its result mentions.
    pub objects: Vec<Arc<Object>>,
    /// The claim on memory of a task that has a result, which it counts until others count it.
    pub claim: Option<Claim>,
    /// Its instance, if another job of its parent may run there.
    pub used: Option<Used>,
}

/// An instance in which short jobs have run.
pub struct Used {
    store: Store<Guest>,
    instance: Instance,
    /// The size of its memory after the first of them.
    bytes_at_first: usize,
}

/// An instance whose jobs have left this much in its memory, together, is thrown away.
const LEFT_BYTES_MAX: usize = 1 << 20;

/// Runs `assignment` in a pristine instance, or in one in which jobs of its parent have run.
pub async fn run_task(
    registry: Arc<Registry>,
    task: Task,
    assignment: Assignment,
    used: Option<Used>,
) -> TaskEnd {
    let engine = registry.app.0.engine.inner.clone();
    let length = task.parameters.len() as u32;
    let export = match &assignment {
        Assignment::Root { export, .. } => Some(*export),
        Assignment::Job(job) => registry.export(job.kind),
    };
    let (mut store, instance, bytes_at_first) = match used {
        Some(Used { mut store, instance, bytes_at_first }) => {
            store.data_mut().begin_again(task, assignment);
            (store, Some(instance), Some(bytes_at_first))
        }
        None => (Store::new(&engine, Guest::new(registry, task, assignment)), None, None),
    };
    let result = match export {
        Some(export) => run(&mut store, instance, export, length).await,
        None => Err(Stop::Host("a job of no kind was taken; this is a bug in Sateen".to_owned())),
    };
    let guest = store.data_mut();
    let objects = guest.objects.take_mentioned();
    if result.is_err() {
        guest.forget_made();
    }
    // The work of a failed job counts, unlike that of an aborted one.
    if matches!(result, Err(Stop::Aborted)) {
        guest.forget_applied();
    }
    let (work, span) = guest.profiled().unwrap_or_else(|| (guest.clock.total_work(), guest.clock.span()));
    // An instance's memory is freed after its state, of which the claim is a part.
    let claim = guest.take_claim();
    let is_reusable = guest.is_reusable(work);
    let bytes = guest.exports.memory().map_or(0, |memory| memory.data_size(&store));
    let bytes_at_first = bytes_at_first.unwrap_or(bytes);
    let is_reusable = is_reusable && bytes - bytes_at_first <= LEFT_BYTES_MAX;
    let (result, used) = match result {
        Ok((result, instance)) => {
            (Ok(result), is_reusable.then_some(Used { store, instance, bytes_at_first }))
        }
        Err(stop) => {
            drop(store);
            (Err(stop), None)
        }
    };
    // A task that was evicted or failed looks for room next.
    let claim = claim.filter(|_| result.is_ok());
    TaskEnd { result, span, work, objects, claim, used }
}

async fn run(
    store: &mut Store<Guest>,
    instance: Option<Instance>,
    export: ModuleExport,
    length: u32,
) -> Result<(Bytes, Instance), Stop> {
    // The job may have been aborted, or the run may have ended, before its turn came.
    store.data().check()?;
    let limits = store.data().registry.limits().clone();
    store.limiter(|guest| &mut guest.limiter);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(heartbeat);

    let result = call(store, instance, export, length).await;
    sample(&mut store.as_context_mut(), 0);
    let (instance, address, length) = result.map_err(|error| stop_of(&mut *store, &error))?;
    let guest = store.data_mut();
    let name = guest.job_name().to_owned();
    if length > limits.output_bytes_max {
        let what = format!("the result of `{name}`");
        return Err(Stop::Limit(LimitExceeded::Output {
            what,
            asked: length as u64,
            limit: limits.output_bytes_max,
        }));
    }
    guest.limiter.claim_result(length);
    let memory = guest.exports.memory();
    let result = memory
        .and_then(|memory| memory.data(&*store).get(address..address.checked_add(length)?).map(Bytes::from));
    match result {
        Some(result) => Ok((result, instance)),
        None => Err(Stop::Failed(JobFailure {
            job: name,
            message: format!(
                "the module breaks the ABI: its result is at {address}, {length} bytes long, outside its memory"
            ),
            backtrace: Vec::new(),
        })),
    }
}

/// The instance, and the address and length of the result.
async fn call(
    store: &mut Store<Guest>,
    instance: Option<Instance>,
    export: ModuleExport,
    length: u32,
) -> wasmtime::Result<(Instance, usize, usize)> {
    let instance = match instance {
        Some(instance) => instance,
        None => instantiate(store).await?,
    };
    let function = instance.get_module_export(&mut *store, &export).and_then(wasmtime::Extern::into_func);
    let Some(function) = function else {
        return Err(broken(store.data(), "an export is not a function".to_owned()));
    };
    let function = function
        .typed::<u32, u64>(&mut *store)
        .map_err(|error| broken(store.data(), format!("an export has another type: {error}")))?;
    let place = function.call_async(&mut *store, length).await?;
    Ok((instance, (place >> 32) as usize, place as u32 as usize))
}

async fn instantiate(store: &mut Store<Guest>) -> wasmtime::Result<Instance> {
    let app = store.data().registry.app.clone();
    let instance = app.0.instance_pre.instantiate_async(&mut *store).await?;
    let memory =
        instance.get_module_export(&mut *store, &app.0.memory).and_then(wasmtime::Extern::into_memory);
    let stack_pointer = (app.0.stack_pointer.as_ref())
        .and_then(|export| instance.get_module_export(&mut *store, export)?.into_global());
    store.data_mut().exports = Exports::new(memory, stack_pointer);
    Ok(instance)
}
