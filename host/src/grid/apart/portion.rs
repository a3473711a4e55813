//! A host's portion of a run whose guests are in a process of their own.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sateen_protocol::host::{FinalCounts, Notice, RunCommand};
use sateen_protocol::limits::REASON_BYTES_MAX;
use sateen_protocol::{BlobHash, Counts};
use sateen_walls::Report;
use tracing::error;

use super::channel::{Channel, ChannelError};
use super::check::Verdict;
use super::member::{Member, Stage};
use super::pools::Pools;
use super::strikes::Strikes;
use super::wire::{FromGuests, ToGuests};
use crate::grid::clock::now_ns;
use crate::grid::runtime::{Notify, RunningPortion};

/// How long a process may take to stop its guests and report its last counts; then it is killed.
const STOP_MAX: Duration = Duration::from_secs(2);

/// A portion in another process.
pub struct PortionApart {
    member: Arc<Member>,
    pools: Arc<Pools>,
    reader: Option<JoinHandle<()>>,
}

impl PortionApart {
    /// That of a process that has started.
    pub fn new(member: Arc<Member>, pools: Arc<Pools>, reader: JoinHandle<()>) -> Self {
        Self { member, pools, reader: Some(reader) }
    }
}

impl RunningPortion for PortionApart {
    fn handle(&mut self, command: RunCommand) {
        self.member.check.note_command(&command);
        self.member.post(&ToGuests::Command(command));
    }

    /// While several runs take turns, these change more often than a process counts.
    fn counts(&self) -> Counts {
        let counts = self.member.counts();
        match self.pools.turns_in_use(self.member.id) {
            Some(busy) if !self.member.check.is_draining() => {
                Counts { busy: busy.min(counts.workers), ..counts }
            }
            _ => counts,
        }
    }

    fn activity(&self) -> Option<Notice> {
        Some(self.member.take_activity())
    }

    fn notice_taken(&self, notice: &Notice) {
        self.member.note_taken(notice);
    }

    fn stop(mut self: Box<Self>) -> FinalCounts {
        let mut last = None;
        if self.member.advance(Stage::Stopping).is_some() {
            self.member.post(&ToGuests::Stop);
            if let Stage::Stopped(counts) =
                self.member.wait(|stage| matches!(stage, Stage::Stopping), STOP_MAX)
            {
                last = Some(*counts);
            }
        }
        self.end();
        self.member.final_counts(last)
    }
}

impl PortionApart {
    fn end(&mut self) {
        self.member.process.kill();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Drop for PortionApart {
    fn drop(&mut self) {
        self.end();
    }
}

/// Maximum reports of progress that are passed on in each [`PERIOD`].
const PROGRESS_MAX: u32 = 1000;
/// See [`PROGRESS_MAX`].
const PERIOD: Duration = Duration::from_secs(1);

/// Bounds how often something is passed on.
#[derive(Debug, Default)]
pub struct Throttle {
    since: Option<Instant>,
    count: u32,
}

impl Throttle {
    fn admits(&mut self, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.duration_since(since) >= PERIOD) {
            *self = Self { since: Some(now), count: 0 };
        }
        self.count += 1;
        self.count <= PROGRESS_MAX
    }
}

/// Takes a report of walls; an error if they are not enough.
pub type TakeReport = Box<dyn Fn(&Report) -> Result<(), String> + Send>;

/// What the thread that reads from a process needs.
pub struct Reader {
    pub channel: Arc<Channel>,
    pub member: Arc<Member>,
    pub pools: Arc<Pools>,
    pub strikes: Arc<Strikes>,
    pub module: BlobHash,
    pub notify: Notify,
    /// Number and time of the last reports of progress.
    pub progress: Throttle,
    /// Takes what the system keeps from the process; an error if that is not enough.
    pub walls: TakeReport,
}

impl Reader {
    /// Reads until the process ends. If it was not told to, that is a crash.
    pub fn run(mut self) {
        let most = self.member.check.message_bytes_max();
        let mut buffer = Vec::new();
        loop {
            self.member.wait_for_room();
            match self.channel.receive::<FromGuests>(&mut buffer, most) {
                Ok(Some(received)) => {
                    let is_sound = received.descriptors.is_empty();
                    let mut messages = received.messages.into_iter();
                    let broken = if is_sound {
                        messages.find_map(|message| self.hear(message).err())
                    } else {
                        Some("it sent descriptors".to_owned())
                    };
                    if let Some(why) = broken {
                        self.member.process.condemn(why);
                        break;
                    }
                }
                Ok(None) => break,
                Err(ChannelError::Broken(why)) => {
                    self.member.process.condemn(why);
                    break;
                }
                Err(ChannelError::System(_) | ChannelError::Silent) => break,
            }
        }
        self.member.mailbox.close();
        let ended = self.member.process.end();
        self.pools.leave(&self.member);
        let was_started = match self.member.advance(Stage::Ended) {
            Some(Stage::Starting) => false,
            Some(Stage::Started) => true,
            // It was told to stop.
            _ => return,
        };
        if ended.is_fault {
            self.strikes.note(self.module, &ended.why);
        }
        if was_started {
            (self.notify)(Notice::Crashed(ended.why));
        }
    }

    fn hear(&mut self, message: FromGuests) -> Result<(), String> {
        let is_started = matches!(self.member.stage(), Stage::Started | Stage::Stopping);
        match message {
            FromGuests::Started { walls } => {
                if is_started {
                    return Err("it started twice".to_owned());
                }
                if let Err(why) = (self.walls)(&walls) {
                    self.end_start(Stage::Refused(why))?;
                    self.member.process.kill();
                    return Ok(());
                }
                if self.member.advance(Stage::Started).is_none() {
                    return Err("it started twice".to_owned());
                }
            }
            FromGuests::Unpooled => self.end_start(Stage::Unpooled)?,
            FromGuests::Refused(why) if why.len() <= REASON_BYTES_MAX => {
                self.end_start(Stage::Refused(why))?;
            }
            FromGuests::Panicked(text) => {
                let text = text.get(..text.floor_char_boundary(REASON_BYTES_MAX)).unwrap_or_default();
                error!(text, "the process of guests panicked; this is a bug in Sateen, please report it");
            }
            _ if !is_started => return Err("it spoke before it was started".to_owned()),
            FromGuests::Notice(notice) => self.hear_notice(notice)?,
            FromGuests::Begun { held, worker, at_ns } => {
                let late_ns = now_ns().saturating_sub(at_ns);
                self.hear_notice(Notice::Begun { held, worker, late_ns })?;
            }
            FromGuests::Counts(counts) => self.member.show_counts(*counts),
            FromGuests::Turns(news) => self.pools.hear_of_turns(self.member.id, news)?,
            FromGuests::Memory(news) => self.pools.hear_of_memory(self.member.id, news),
            FromGuests::Stopped(counts) => {
                // One that stops without being told ends, which is noticed.
                self.member.advance(Stage::Stopped(counts));
            }
            FromGuests::Refused(_) => return Err("its reason is too long".to_owned()),
        }
        Ok(())
    }

    fn end_start(&self, stage: Stage) -> Result<(), String> {
        let before = self.member.advance(stage);
        before.map(drop).ok_or_else(|| "it refused a run that it had started".to_owned())
    }

    fn hear_notice(&mut self, notice: Notice) -> Result<(), String> {
        match self.member.check.notice(&notice)? {
            Verdict::Drop => {}
            Verdict::Pass => match notice {
                Notice::Activity { workers, jobs, jobs_dropped } => {
                    self.member.show_activity(workers, jobs, jobs_dropped);
                }
                Notice::Progress(..) if !self.progress.admits(Instant::now()) => {}
                notice => {
                    self.member.note_sent(&notice);
                    (self.notify)(notice);
                }
            },
        }
        Ok(())
    }
}
