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
use super::heartbeat::sample_last;
use super::memory::{Exports, broken};
use super::own_job::Assignment;
use super::prepare::{Begun, prepare};
use super::stopped::stop_of;
use crate::failure::{JobFailure, Stop};
use crate::limits::LimitExceeded;
use crate::memory::Claim;
use crate::module::{Mapped, Page};
use crate::scheduler::{Object, Registry, Signal, Task, own_index};

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
    pub used: Option<Box<Sandbox>>,
}

/// An instance with its store and page, made for its first job. It is large, and passes through many hands: in a box.
pub struct Sandbox {
    // Dropped before the store, whose memory it undoes.
    mapped: Option<Mapped>,
    store: Store<Guest>,
    instance: Option<Instance>,
    /// The size of its memory after its first job.
    bytes_at_first: Option<usize>,
    /// It has trapped before its job began.
    is_spoilt: bool,
    // Dropped after the store, for the next instance.
    page: Page,
}

impl Sandbox {
    fn new(registry: Arc<Registry>, task: Task, assignment: Assignment) -> Result<Box<Self>, Stop> {
        let engine = registry.app.0.engine.inner.clone();
        let page = registry.app.0.pages.take();
        let page =
            page.map_err(|error| Stop::Host(format!("this machine has no room for an instance: {error}")))?;
        let store = Store::new(&engine, Guest::new(registry, task, assignment, page.words().clone()));
        Ok(Box::new(Self {
            mapped: None,
            store,
            instance: None,
            bytes_at_first: None,
            is_spoilt: false,
            page,
        }))
    }

    fn begin_again(mut self: Box<Self>, task: Task, assignment: Assignment) -> Box<Self> {
        // The last job may have been asked to stop when it was at its end.
        self.page.words().clear();
        self.store.data_mut().begin_again(task, assignment);
        self
    }

    /// A new instance for the same job.
    fn anew(self) -> Box<Self> {
        let Self { mapped, store, page, .. } = self;
        drop(mapped);
        let engine = store.engine().clone();
        let mut guest = store.into_data();
        guest.exports = Exports::default();
        let store = Store::new(&engine, guest);
        Box::new(Self { mapped: None, store, instance: None, bytes_at_first: None, is_spoilt: false, page })
    }
}

/// An instance whose jobs have left this much in its memory, together, is thrown away.
const LEFT_BYTES_MAX: usize = 1 << 20;

/// Runs `assignment` in a pristine instance, or in one in which jobs of its parent have run.
pub async fn run_task(
    registry: Arc<Registry>,
    task: Task,
    assignment: Assignment,
    used: Option<Box<Sandbox>>,
) -> TaskEnd {
    let length = task.parameters.len() as u32;
    let export = match &assignment {
        Assignment::Root { export, .. } => Some(*export),
        Assignment::Job(job) => registry.export(job.kind),
    };
    let used = match used {
        Some(used) => Ok(used.begin_again(task, assignment)),
        None => Sandbox::new(registry.clone(), task, assignment),
    };
    let mut used = match used {
        Ok(used) => used,
        Err(stop) => return TaskEnd::without_instance(stop),
    };
    let signal = used.store.data().job.signal().clone();
    let result = match export {
        Some(export) => {
            let result = reached(&registry, &signal, run(&mut used, export, length)).await;
            if used.is_spoilt {
                used = used.anew();
                reached(&registry, &signal, run(&mut used, export, length)).await
            } else {
                result
            }
        }
        None => Err(Stop::Host("a job of no kind was taken; this is a bug in Sateen".to_owned())),
    };
    let store = &mut used.store;
    let guest = store.data_mut();
    let objects = guest.objects.take_mentioned();
    if result.is_err() {
        guest.forget_made();
    }
    // The last moments are work, too: this host reports exactly what the answer accounts for.
    guest.clock.stop();
    guest.report_work();
    // The work of a failed job counts, unlike that of an aborted one.
    if matches!(result, Err(Stop::Aborted)) {
        guest.forget_applied();
    }
    let (work, span) = guest.profiled().unwrap_or_else(|| (guest.clock.total_work(), guest.clock.span()));
    // An instance's memory is freed after its state, of which the claim is a part.
    let claim = guest.take_claim();
    let is_reusable = guest.is_reusable(work);
    let bytes = guest.exports.memory().map_or(0, |memory| memory.data_size(&*store));
    let bytes_at_first = *used.bytes_at_first.get_or_insert(bytes);
    let is_reusable = result.is_ok() && is_reusable && bytes - bytes_at_first <= LEFT_BYTES_MAX;
    let used = is_reusable.then_some(used);
    // A task that was evicted or failed looks for room next.
    let claim = claim.filter(|_| result.is_ok());
    TaskEnd { result, span, work, objects, claim, used }
}

impl TaskEnd {
    fn without_instance(stop: Stop) -> Self {
        let (span, work) = (Duration::ZERO, Duration::ZERO);
        Self { result: Err(stop), span, work, objects: Vec::new(), claim: None, used: None }
    }
}

/// While the `future` computes, other threads reach its instance by the `signal`.
async fn reached<T>(registry: &Registry, signal: &Arc<Signal>, future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        let worker = own_index().unwrap_or(usize::MAX);
        registry.tempo.signals.enter(worker, signal);
        let result = future.as_mut().poll(context);
        registry.tempo.signals.leave(worker);
        result
    })
    .await
}

async fn run(used: &mut Sandbox, export: ModuleExport, length: u32) -> Result<Bytes, Stop> {
    let store = &mut used.store;
    // The job may have been aborted, or the run may have ended, before its turn came.
    store.data().check()?;
    let limits = store.data().registry.limits().clone();
    store.limiter(|guest| &mut guest.limiter);

    let result = call(used, export, length).await;
    let store = &mut used.store;
    sample_last(&mut store.as_context_mut());
    let (address, length) = result.map_err(|error| stop_of(&mut *store, &error))?;
    let guest = store.data_mut();
    let name = guest.job_name().to_owned();
    if length > limits.output_bytes_max {
        let what = format!("the result of `{name}` is");
        return Err(Stop::Limit(LimitExceeded::Output {
            what,
            asked: length as u64,
            limit: limits.output_bytes_max,
        }));
    }
    guest.limiter.claim_result(length)?;
    let memory = guest.exports.memory();
    let result = memory
        .and_then(|memory| memory.data(&*store).get(address..address.checked_add(length)?).map(Bytes::from));
    match result {
        Some(result) => Ok(result),
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
async fn call(used: &mut Sandbox, export: ModuleExport, length: u32) -> wasmtime::Result<(usize, usize)> {
    let instance = match used.instance {
        Some(instance) => instance,
        None => {
            let instance = instantiate(&mut used.store, &mut used.page).await?;
            // SAFETY: a sandbox drops what is mapped first, also if it is made anew.
            #[allow(unsafe_code)]
            let begun = unsafe { prepare(&mut used.store, instance, &mut used.mapped) };
            if begun.await? == Begun::Spoilt {
                used.is_spoilt = true;
                return Ok((0, 0));
            }
            *used.instance.insert(instance)
        }
    };
    let store = &mut used.store;
    let function = instance.get_module_export(&mut *store, &export).and_then(wasmtime::Extern::into_func);
    let Some(function) = function else {
        return Err(broken(store.data(), "an export is not a function".to_owned()));
    };
    let function = function
        .typed::<u32, u64>(&mut *store)
        .map_err(|error| broken(store.data(), format!("an export has another type: {error}")))?;
    let place = function.call_async(&mut *store, length).await?;
    Ok(((place >> 32) as usize, place as u32 as usize))
}

async fn instantiate(store: &mut Store<Guest>, page: &mut Page) -> wasmtime::Result<Instance> {
    let app = store.data().registry.app.clone();
    let instance = page.instance_pre(store)?.instantiate_async(&mut *store).await?;
    let memory =
        instance.get_module_export(&mut *store, &app.0.memory).and_then(wasmtime::Extern::into_memory);
    let stack_pointer = (app.0.stack_pointer.as_ref())
        .and_then(|export| instance.get_module_export(&mut *store, export)?.into_global());
    store.data_mut().exports = Exports::new(memory, stack_pointer);
    Ok(instance)
}
