//! The runtime of a host whose runs have processes of their own.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sateen_comfort::governor::{Brake, Brakes};
use sateen_command_line::explained;
use sateen_protocol::limits::{HOST_TABLE_BYTES_MAX, REASON_BYTES_MAX};
use sateen_walls::{Report, Standing, Wall};
use tracing::{info, warn};

use super::cgroups::Cgroups;
use super::channel::{Channel, Frame};
use super::check::{Bounds, Check, JobKeys};
use super::mailbox::Mailbox;
use super::member::{Member, Stage};
use super::pools::{Pools, start_passing_on};
use super::portion::PortionApart;
use super::process::Spawner;
use super::reader::{GuestProcess, Reader, Throttle};
use super::sealed;
use super::strikes::Strikes;
use super::watch;
use super::wire::{Start, ToGuests};
use crate::grid::control::{GuestsStatus, MayUse};
use crate::grid::portion_runtime::{CodeFolder, await_go, limits_for, may_use, table_bytes_max};
use crate::grid::runtime::{Loading, Notify, RunningPortion, Runtime};
use crate::limits::Limits;
use crate::memory::COPIES_OF_OBJECTS;
use crate::module::inspect;
use crate::{Compiler, Engine, HostMemory, Inspection, Priority};

/// How long a process may take to set up its engine.
const START_MAX: Duration = Duration::from_secs(120);
/// How often a thread that waits for that checks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(50);
/// How often a process is started again that somebody has killed while it was starting.
const STARTS_MAX: u32 = 10;

/// Runs the guests of each run in a process of their own.
pub struct Apart {
    threads: usize,
    priority: Priority,
    compiler: Compiler,
    spawner: Spawner,
    pools: Arc<Pools>,
    strikes: Arc<Strikes>,
    last_member: AtomicU64,
    /// Whether the system has room for pools of instances, as far as is known.
    is_pooled: AtomicBool,
    /// What the system keeps from the last process that was started, a line each.
    walls: Arc<Mutex<Vec<String>>>,
    /// Whether runs are refused if a wall is missing for which no other makes up.
    requires_walls: bool,
    /// The brakes of all processes, for the owner's governor.
    brakes: Brakes,
    /// The part of the system's cgroups that is this host's, or why it has none.
    cgroups: Arc<Result<Cgroups, String>>,
}

impl Apart {
    /// Runs guests on this many threads, with the memory of the compiler.
    ///
    /// # Errors
    /// If the system lacks what processes of guests need: sockets that pass descriptors, or memory that is sealed.
    pub fn new(threads: usize, compiler: Compiler) -> io::Result<Self> {
        let program = compiler.program.clone();
        Self::with_program(threads, compiler, program)
    }

    /// The same; the processes of guests are of this program.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn with_program(threads: usize, compiler: Compiler, program: PathBuf) -> io::Result<Self> {
        Channel::pair()?;
        sealed::write("sateen-test", &[b"sealed"])?;
        let pools = Pools::new(threads, compiler.memory.clone());
        let bytes_max = compiler.memory.as_ref().map(|memory| memory.bytes_max() as u64);
        watch::start(&pools, bytes_max)?;
        start_passing_on(&pools)?;
        Ok(Self {
            threads,
            priority: compiler.priority,
            spawner: Spawner::start(program)?,
            compiler,
            pools,
            strikes: Arc::default(),
            last_member: AtomicU64::new(0),
            is_pooled: AtomicBool::new(true),
            walls: Arc::default(),
            requires_walls: false,
            brakes: Brakes::default(),
            cgroups: Arc::new(Err("not asked for".to_owned())),
        })
    }

    /// Puts each process into a cgroup of its own, if the system has given this host a part of its tree.
    #[must_use]
    pub fn with_cgroups(self) -> Self {
        let bytes_max = self.memory().map(|memory| memory.bytes_max() as u64);
        Self { cgroups: Arc::new(Cgroups::of_host(bytes_max, self.priority)), ..self }
    }

    /// Refuses runs if the system cannot put up all walls around their guests.
    #[must_use]
    pub fn requiring_walls(self, requires_walls: bool) -> Self {
        Self { requires_walls, ..self }
    }

    /// The owner's governor holds guests by these.
    #[must_use]
    pub fn with_brakes(self, brakes: Brakes) -> Self {
        Self { brakes, ..self }
    }

    fn memory(&self) -> Option<&HostMemory> {
        self.pools.host_memory.as_ref()
    }

    /// Starts a process, and waits until it has set up its engine.
    fn start_process(
        &self,
        loading: &Loading,
        (limits, inspection): (&Limits, &Inspection),
        notify: &Notify,
    ) -> Result<(Arc<Member>, PortionApart), String> {
        let frame = self.prepare(loading)?;
        let failed =
            |error: io::Error| format!("a process for guests cannot be started: {}", explained(&error));
        let (channel, process) = self.spawner.spawn().map_err(failed)?;
        let channel = Arc::new(channel);
        let bounds = Bounds { threads: self.threads, output_bytes_max: limits.output_bytes_max };
        let keys = JobKeys::new(loading.spec.app, inspection, &loading.spec);
        let id = self.last_member.fetch_add(1, SeqCst) + 1;
        if let (1, Err(why)) = (id, self.cgroups.as_ref()) {
            info!("guests have no cgroup of their own, so the host itself holds their limits: {why}");
        }
        let cgroup = self.cgroups.as_ref().as_ref().ok().map(|cgroups| cgroups.add(id, process.id()));
        let cgroup = cgroup.and_then(|added| {
            let warned =
                |error: &io::Error| warn!(error = explained(error), "a process of guests has no cgroup");
            added.inspect_err(warned).ok()
        });
        let mailbox = Mailbox::new(channel.clone());
        let member = Member::new(id, process, mailbox, Check::new(bounds, keys));
        let (walls, requires_walls) = (Arc::clone(&self.walls), self.requires_walls);
        let (stopper, ending) = mpsc::sync_channel(1);
        let reader = Reader {
            channel,
            guests: GuestProcess {
                member: member.clone(),
                pools: self.pools.clone(),
                strikes: self.strikes.clone(),
                module: loading.spec.app,
                notify: notify.clone(),
                _cgroup: cgroup,
            },
            progress: Throttle::default(),
            stopper,
            walls: Box::new(move |report| {
                *walls.lock() = lines(report);
                if requires_walls { report.require().map_err(|missing| missing.to_string()) } else { Ok(()) }
            }),
        };
        if member.mailbox.send(frame).is_err() {
            member.process.condemn("its start message could not be sent");
        }
        self.pools.join(&member, loading.spec.share);
        drop(loading.event_loop.spawn(reader.run()));
        Ok((member.clone(), PortionApart::new(member, self.pools.clone(), ending, notify.clone())))
    }

    /// The message with what a process is to run, and all that it needs.
    fn prepare(&self, loading: &Loading) -> Result<Frame, String> {
        let is_pooled = self.is_pooled.load(SeqCst);
        let engine = Engine::for_compiling(loading.spec.strict_nan, is_pooled);
        let engine = engine.map_err(|error| error.to_string())?;
        let cache = CodeFolder::open(loading.cache.as_deref())?;
        await_go(&self.brakes, &loading.cancel)?;
        let code = self
            .compiler
            .prepare(&engine, &loading.module, &cache.modules, &|| loading.cancel.is_cancelled());
        let code = code.map_err(|error| error.to_string())?;
        let start = Start {
            run: loading.run,
            spec: loading.spec.clone(),
            threads: self.threads,
            is_idle: self.priority == Priority::Idle,
            memory_bytes_max: self.memory().map(HostMemory::bytes_max),
            is_pooled,
            is_copyable: code.is_copyable(),
            module_bytes: loading.module.len(),
            inputs: loading.inputs.iter().map(|(name, bytes)| (name.clone(), bytes.len())).collect(),
        };
        let parts: Vec<&[u8]> =
            std::iter::once(&*loading.module).chain(loading.inputs.values().map(|bytes| &**bytes)).collect();
        let frame = sealed::write("sateen-app", &parts).and_then(|app| {
            let code = sealed::write("sateen-code", &[code.bytes()])?;
            Frame::of(&ToGuests::Start(Box::new(start)), vec![app, code])
        });
        frame.map_err(|error| format!("there is no memory for the app and its inputs: {}", explained(&error)))
    }
}

/// The brake of a process: its guests stand still at their next heartbeat, and it continues to lend their jobs.
struct HeldApart(Arc<Member>, Arc<Result<Cgroups, String>>);

impl Brake for HeldApart {
    fn hold(&self, is_held: bool) {
        self.0.post(&ToGuests::Hold(is_held));
    }

    fn is_over(&self) -> bool {
        !matches!(self.0.stage(), Stage::Started)
    }

    fn used_elsewhere(&self) -> Duration {
        self.0.process.processor_time()
    }

    fn cgroup(&self) -> Option<PathBuf> {
        Some(self.1.as_ref().as_ref().ok()?.share()?.to_owned())
    }
}

/// A line for each wall. The report comes from a process that has not run any guest yet, and is bounded all the same.
fn lines(report: &Report) -> Vec<String> {
    let line = |standing: &Standing| {
        let mut line = standing.to_string();
        line.truncate(line.floor_char_boundary(REASON_BYTES_MAX));
        line
    };
    report.walls().iter().take(Wall::ALL.len()).map(line).collect()
}

impl Runtime for Apart {
    fn threads(&self) -> usize {
        self.threads
    }

    fn may_use(&self) -> MayUse {
        may_use(self.threads, self.priority, self.memory())
    }

    fn guests(&self) -> GuestsStatus {
        let cgroup = match self.cgroups.as_ref() {
            Ok(cgroups) => cgroups.to_string(),
            Err(why) => why.clone(),
        };
        GuestsStatus { own_process: true, why_not: None, walls: self.walls.lock().clone(), cgroup }
    }

    fn processor_time(&self) -> Duration {
        self.pools.processor_time()
    }

    fn result_passes(&self, bytes: usize) {
        if let Some(memory) = self.memory() {
            memory.pass_result(bytes);
            self.pools.reserve();
        }
    }

    fn result_has_passed(&self, bytes: usize) {
        if let Some(memory) = self.memory() {
            memory.take_result(bytes);
        }
    }

    fn undelivered(&self, bytes: usize) {
        if let Some(memory) = self.memory() {
            memory.keep_undelivered(bytes);
            self.pools.reserve();
        }
    }

    fn table_bytes_max(&self) -> usize {
        self.memory().map_or(HOST_TABLE_BYTES_MAX, table_bytes_max)
    }

    fn start(&self, loading: Loading, notify: Notify) -> Result<Box<dyn RunningPortion>, String> {
        let memory_bytes_max = self.memory().map(HostMemory::bytes_max);
        let limits = limits_for(&loading.spec.limits, self.threads, memory_bytes_max, COPIES_OF_OBJECTS)?;
        let inspection = inspect(&loading.module, &limits);
        if let Some(why) = inspection.refusal() {
            return Err(why.to_owned());
        }
        let mut starts = 0;
        loop {
            if let Some(why) = self.strikes.refusal(loading.spec.app) {
                return Err(why);
            }
            let (member, portion) = self.start_process(&loading, (&limits, &inspection), &notify)?;
            let until = Instant::now() + START_MAX;
            let stage = loop {
                let stage = member.wait(|stage| matches!(stage, Stage::Starting), LOOK);
                if !matches!(stage, Stage::Starting) {
                    break stage;
                }
                if loading.cancel.is_cancelled() {
                    return Err("the run is not wanted any more".to_owned());
                }
                if Instant::now() >= until {
                    return Err(format!(
                        "the process of its guests did not start within {} s",
                        START_MAX.as_secs()
                    ));
                }
            };
            starts += 1;
            match stage {
                Stage::Unpooled if self.is_pooled.swap(false, SeqCst) => {}
                Stage::Refused(why) => return Err(why),
                Stage::Ended if starts < STARTS_MAX => {}
                Stage::Unpooled | Stage::Ended => {
                    return Err("the process of its guests ended again and again while it started".to_owned());
                }
                _ => {
                    self.brakes.add(Box::new(HeldApart(member, self.cgroups.clone())));
                    return Ok(Box::new(portion));
                }
            }
        }
    }
}
