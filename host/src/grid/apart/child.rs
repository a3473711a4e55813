//! The process of a run's guests: what the hidden command of `sateen-host` does.
//!
//! It has an engine, workers and a portion, and nothing else: no secret, no environment, no descriptor but its channel,
//! and no file. It ends when the channel does.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use sateen_comfort::governor::Brake;
use sateen_protocol::host::{FinalCounts, Notice};

use super::channel::{Channel, ChannelError, Frame};
use super::inherited;
use super::outbox::{Outbox, bytes_of_result};
use super::sealed;
use super::stock::SPARES_MAX;
use super::wire::{FromGuests, SILENCE_MAX, Start, ToGuests};
use crate::grid::clock::now_ns;
use crate::grid::portion_runtime::{counts_of, engine_for, final_counts, limits_for, record_every};
use crate::guest::processor::of_process as time_of_process;
use crate::memory::COPIES_OF_OBJECTS;
use crate::module::App;
use crate::portion::{Portion, PortionOptions, TakeNotices};
use crate::scheduler::{Priority, Turns};
use crate::{HostMemory, RunError};

/// The hidden command of `sateen-host` that runs guests.
pub const GUESTS_COMMAND: &str = "guests";
/// Maximum size of a message, or of an app with its inputs: the host is trusted.
const RECEIVED_BYTES_MAX: usize = usize::MAX;
/// A worker in the midst of something that cannot be stopped, for example an operation on gigabytes of memory, ends with
/// its process after this time.
const STOPPED_AFTER: Duration = Duration::from_millis(40);
/// On a machine that is busy, guests may take longer, without computing.
const STOPPED_MAX: Duration = Duration::from_millis(1500);

/// The child's part.
pub fn run_guests() -> ExitCode {
    // If the host has ended by now, so has the channel.
    let host = getppid().map(|host| host.as_raw_nonzero().get().unsigned_abs());
    isolate();
    match Channel::inherited()
        .map_err(|error| error.to_string())
        .and_then(|channel| serve(&Arc::new(channel), host))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Runs guests until the host, a process with this id, wants no more of them, or is gone.
fn serve(channel: &Arc<Channel>, host: Option<u32>) -> Result<(), String> {
    let mut buffer = Vec::new();
    let first =
        channel.receive::<ToGuests>(&mut buffer, RECEIVED_BYTES_MAX).map_err(|error| error.to_string())?;
    let Some(first) = first else { return Ok(()) };
    let mut messages = first.messages.into_iter();
    let Some(ToGuests::Start(start)) = messages.next() else {
        return Err("the host has not said what to run".to_owned());
    };
    let mut outbox = Outbox::new(channel.clone());
    report_panics(&outbox);
    let loaded = match Loaded::load(*start, &first.descriptors) {
        Ok(Some(loaded)) => loaded,
        Ok(None) => return answer(channel, &FromGuests::Unpooled),
        Err(why) => return answer(channel, &FromGuests::Refused(why)),
    };
    drop(first.descriptors);
    // Within the walls, nothing about a socket can be changed.
    channel.expect_within(SILENCE_MAX).map_err(|error| error.to_string())?;
    // After the code was loaded, as no memory can be made executable from here on, and before there is another thread.
    let walls = sateen_walls::raise(&sateen_walls::Options { parent: host, ..Default::default() });
    let guests = match loaded.begin(&outbox) {
        Ok(guests) => guests,
        Err(why) => return answer(channel, &FromGuests::Refused(why)),
    };
    answer(channel, &FromGuests::Started { walls })?;
    let Guests { portion, turns, memory } = guests;
    let mut held = Held::new(portion.brake());
    let spare = outbox.sender(FromGuests::Spared);
    outbox.start(portion.observer(), memory.clone()).map_err(|error| error.to_string())?;
    loop {
        for message in messages {
            match message {
                ToGuests::Command(command) => portion.handle(command),
                ToGuests::Lend(count) => turns.lend(count),
                ToGuests::Recall(count) => turns.recall(count),
                ToGuests::Scarce(is_scarce) => turns.note_scarce(is_scarce),
                ToGuests::Lease(lease) => memory.iter().for_each(|memory| memory.lend(lease)),
                ToGuests::Resident(bytes) => {
                    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                    memory.iter().for_each(|memory| memory.see_resident(bytes));
                }
                ToGuests::Hold(is_held) => held.change(|held| held.by_owner = is_held),
                ToGuests::Alive => {}
                ToGuests::Stop => return stop(channel, portion, outbox),
                ToGuests::Spare(most) => portion.spare(most.min(SPARES_MAX), &spare),
                ToGuests::Start(_) => return Err("the host has started the guests twice".to_owned()),
            }
        }
        outbox.flush();
        let received = channel.receive::<ToGuests>(&mut buffer, RECEIVED_BYTES_MAX);
        let is_silent = matches!(received, Err(ChannelError::Silent));
        held.change(|held| held.by_silence = is_silent);
        messages = match received {
            Ok(Some(received)) => received.messages.into_iter(),
            Err(ChannelError::Silent) => Vec::new().into_iter(),
            // The host is gone. Guests end with their process, wherever they are.
            Ok(None) => std::process::exit(0),
            Err(error) => return Err(error.to_string()),
        };
    }
}

/// Guests stand still for as long as there is a reason.
struct Held {
    brake: Box<dyn Brake>,
    /// The owner's governor holds them.
    by_owner: bool,
    /// Nothing comes from the host.
    by_silence: bool,
}

impl Held {
    fn new(brake: Box<dyn Brake>) -> Self {
        Self { brake, by_owner: false, by_silence: false }
    }

    fn is_held(&self) -> bool {
        self.by_owner || self.by_silence
    }

    /// Changes the reasons, and holds or releases the guests if that makes a difference.
    fn change(&mut self, change: impl FnOnce(&mut Self)) {
        let before = self.is_held();
        change(self);
        if self.is_held() != before {
            self.brake.hold(self.is_held());
        }
    }
}

fn answer(channel: &Channel, message: &FromGuests) -> Result<(), String> {
    let send = || channel.send(&Frame::of(message, Vec::new())?, true);
    send().map(drop).map_err(|error| error.to_string())
}

/// Ends all guests, and reports the last counts.
fn stop(channel: &Channel, portion: Portion, outbox: Outbox) -> Result<(), String> {
    outbox.end();
    let before = FinalCounts { counts: counts_of(&portion.counts()), ..FinalCounts::default() };
    let (sender, stopped) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(sender.send(final_counts(portion.stop()))));
        let last = wait_for(&stopped).unwrap_or(before);
        let _ = answer(channel, &FromGuests::Stopped(Box::new(last)));
        // Without waiting for a guest that cannot be stopped.
        std::process::exit(0)
    })
}

/// Waits until all guests have stopped, but not for one that computes and does not stop.
fn wait_for(stopped: &mpsc::Receiver<FinalCounts>) -> Option<FinalCounts> {
    let (since, used) = (Instant::now(), time_of_process());
    loop {
        match stopped.recv_timeout(STOPPED_AFTER / 8) {
            Ok(last) => return Some(last),
            Err(mpsc::RecvTimeoutError::Disconnected) => return None,
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        let computes = since.elapsed() >= STOPPED_AFTER && time_of_process() - used >= STOPPED_AFTER / 2;
        if computes || since.elapsed() >= STOPPED_MAX {
            return None;
        }
    }
}

/// What the child consists of.
struct Guests {
    portion: Portion,
    turns: Turns,
    memory: Option<HostMemory>,
}

/// An app whose code is loaded, and that has no thread.
struct Loaded {
    start: Start,
    app: App,
    inputs: BTreeMap<String, Arc<[u8]>>,
}

impl Loaded {
    /// Sets up the engine and the app; `None` if the system has no room for a pool of instances.
    fn load(mut start: Start, descriptors: &[std::os::fd::OwnedFd]) -> Result<Option<Self>, String> {
        let [blobs, code] = descriptors else { return Err("the host has not sent the app".to_owned()) };
        let blobs = sealed::read(blobs, RECEIVED_BYTES_MAX)?;
        let code = sealed::read(code, RECEIVED_BYTES_MAX)?;
        let too_short = || "the app that the host has sent is too short".to_owned();
        let (module, mut rest) = blobs.split_at_checked(start.module_bytes).ok_or_else(too_short)?;
        let mut inputs: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
        for (name, length) in std::mem::take(&mut start.inputs) {
            let (input, others) = rest.split_at_checked(length).ok_or_else(too_short)?;
            inputs.insert(name, input.into());
            rest = others;
        }
        let say = |error: RunError| error.to_string();
        let limits =
            limits_for(&start.spec.limits, start.threads, start.memory_bytes_max, COPIES_OF_OBJECTS)?;
        let engine = engine_for(&limits, start.spec.strict_nan, start.memory_bytes_max, start.threads);
        let engine = engine.map_err(say)?;
        if engine.is_pooled != start.is_pooled {
            return Ok(None);
        }
        let app = App::of_host(&engine, module, code.to_vec(), start.is_copyable).map_err(say)?;
        Ok(Some(Self { start, app, inputs }))
    }

    /// Starts the workers.
    fn begin(self, outbox: &Outbox) -> Result<Guests, String> {
        let Self { start, app, inputs } = self;
        let turns = Turns::borrowed(outbox.sender(FromGuests::Turns));
        let memory = start
            .memory_bytes_max
            .map(|bytes_max| HostMemory::borrowed(bytes_max, outbox.sender(FromGuests::Memory)));
        let memory = memory.transpose().map_err(|error| format!("a thread cannot be started: {error}"))?;
        let reclaim = outbox.sender(|()| FromGuests::Reclaim);
        let options = PortionOptions {
            record_every: record_every(&start.spec),
            keeps_results: start.spec.reuse,
            salt: start.spec.salt(),
            run_name: start.run.0.to_le_bytes().to_vec(),
            function: start.spec.function,
            inputs,
            threads: start.threads,
            priority: if start.is_idle { Priority::Idle } else { Priority::Normal },
            memory: memory.clone(),
            turns: Some(turns.clone()),
            may_share_instances: !start.spec.trust.is_checked(),
            notify: notify(outbox, memory.clone()),
            reclaim: Arc::new(move || reclaim(())),
        };
        let portion = Portion::start(&app, options).map_err(|error| error.to_string())?;
        Ok(Guests { portion, turns, memory })
    }
}

/// The function that the portion calls, on any of its threads.
fn notify(outbox: &Outbox, memory: Option<HostMemory>) -> TakeNotices {
    let send = outbox.sender_of_many();
    let message = move |notice| {
        if let (bytes @ 1.., Some(memory)) = (bytes_of_result(&notice), &memory) {
            memory.pass_result(bytes);
        }
        match notice {
            Notice::Begun { held, worker, .. } => FromGuests::Begun { held, worker, at_ns: now_ns() },
            notice => FromGuests::Notice(notice),
        }
    };
    Arc::new(move |notices| send(&mut notices.map(&message)))
}

/// A panic is a bug: the host shows it.
fn report_panics(outbox: &Outbox) {
    let send = outbox.sender(FromGuests::Panicked);
    std::panic::set_hook(Box::new(move |panic| send(panic.to_string())));
}

/// Closes all descriptors but the channel, and makes this process end with its host and before others if memory is short.
/// Signals from a terminal are for the host, which directs its guests.
fn isolate() {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    inherited::close_descriptors();
    inherited::ignore_signals();
    // If the host has ended before that, so has the channel.
}
