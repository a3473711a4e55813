//! Reads what a process of guests sends, on the driver's own thread. A thief waits for it, and the system takes some
//! 20 µs to wake a thread.

use std::sync::mpsc::TrySendError;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use sateen_command_line::explained;
use sateen_protocol::BlobHash;
use sateen_protocol::host::Notice;
use sateen_protocol::limits::REASON_BYTES_MAX;
use sateen_walls::Report;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tracing::error;

use super::cgroups::Cgroup;
use super::channel::{Channel, ChannelError, Received};
use super::check::Verdict;
use super::member::{Member, Stage};
use super::pools::Pools;
use super::strikes::Strikes;
use super::wire::FromGuests;
use crate::grid::clock::now_ns;
use crate::grid::runtime::Notify;
use crate::grid::threads::on_own_thread;

/// Frames that are read before others get the thread.
const IN_A_ROW_MAX: u32 = 4;
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

/// What reads from a process.
pub struct Reader {
    pub channel: Arc<Channel>,
    pub guests: GuestProcess,
    /// Number and time of the last reports of progress.
    pub progress: Throttle,
    /// Takes what the system keeps from the process; an error if that is not enough.
    pub walls: TakeReport,
    /// To the thread that stops the process, if one does; closed when the process has ended.
    pub stopper: mpsc::SyncSender<GuestProcess>,
}

/// A process in the books of its host. Where this is dropped, the end of the process is awaited and noted, which takes the
/// system a moment.
pub struct GuestProcess {
    pub member: Arc<Member>,
    pub pools: Arc<Pools>,
    pub strikes: Arc<Strikes>,
    pub module: BlobHash,
    pub notify: Notify,
    /// Removed when the process has ended.
    pub _cgroup: Option<Cgroup>,
}

impl Drop for GuestProcess {
    /// If the process was not asked to end, that is a crash.
    fn drop(&mut self) {
        self.member.mailbox.close();
        let ended = self.member.process.end();
        self.pools.leave(&self.member);
        // Before the end is visible: the next question of those that wait for it is whether the module is refused.
        if ended.is_fault && matches!(self.member.stage(), Stage::Starting | Stage::Started) {
            self.strikes.note(self.module, &ended.why);
        }
        if let Some(Stage::Started) = self.member.advance(Stage::Ended) {
            (self.notify)(Notice::Crashed(ended.why));
        }
    }
}

impl Reader {
    /// Reads until the process ends.
    pub async fn run(mut self) {
        if let Err(why) = self.read().await {
            self.guests.member.process.condemn(why);
        }
        let Self { guests, stopper, .. } = self;
        let left = match guests.member.stage() {
            Stage::Stopping | Stage::Stopped(_) => stopper.try_send(guests),
            _ => Err(TrySendError::Disconnected(guests)),
        };
        // Nobody stops the process, or waits for its end any more.
        if let Err(TrySendError::Full(guests) | TrySendError::Disconnected(guests)) = left {
            on_own_thread("sateen-guests", move || {
                drop(guests);
                drop(stopper);
            });
        }
    }

    /// Reads until there is nothing more; an error if the process has broken the rules.
    async fn read(&mut self) -> Result<(), String> {
        let most = self.guests.member.check.message_bytes_max();
        // SAFETY: a `Channel` owns its descriptor and closes it only when it is dropped, so the descriptor stays valid as
        // long as it is registered.
        #[allow(unsafe_code)]
        let socket = unsafe { AsyncFd::register_with_interest(self.channel.clone(), Interest::READABLE) };
        let socket =
            socket.map_err(|error| format!("nothing could be read from it: {}", explained(&error.into())))?;
        let mut buffer = Vec::new();
        let mut in_a_row = 0;
        loop {
            self.guests.member.wait_for_room().await;
            let Ok(mut ready) = socket.readable().await else { return Ok(()) };
            let Ok(frame) = ready.try_io(|channel| channel.get_ref().try_take(&mut buffer)) else {
                in_a_row = 0;
                continue;
            };
            let received = match frame {
                Ok(Ok(Some(frame))) if frame.is_large() => {
                    // To decode it takes long, and others wait for this thread.
                    let open = tokio::task::spawn_blocking(move || frame.open(&[], most));
                    open.await.map_err(|_| "a message cannot be read".to_owned())?
                }
                Ok(Ok(Some(frame))) => frame.open(&buffer, most),
                Ok(Ok(None)) | Err(_) => return Ok(()),
                Ok(Err(error)) => Err(error),
            };
            match received {
                Ok(received) => self.hear_all(received)?,
                Err(ChannelError::Broken(why)) => return Err(why),
                Err(ChannelError::System(_) | ChannelError::Silent) => return Ok(()),
            }
            in_a_row += 1;
            if in_a_row % IN_A_ROW_MAX == 0 {
                // A process that sends all the time does not keep this thread from anything else.
                tokio::task::yield_now().await;
            }
        }
    }

    fn hear_all(&mut self, received: Received<FromGuests>) -> Result<(), String> {
        if !received.descriptors.is_empty() {
            return Err("it sent descriptors".to_owned());
        }
        received.messages.into_iter().try_for_each(|message| self.hear(message))
    }

    fn hear(&mut self, message: FromGuests) -> Result<(), String> {
        let is_started = matches!(self.guests.member.stage(), Stage::Started | Stage::Stopping);
        match message {
            FromGuests::Started { walls } => {
                if is_started {
                    return Err("it started twice".to_owned());
                }
                if let Err(why) = (self.walls)(&walls) {
                    self.end_start(Stage::Refused(why))?;
                    self.guests.member.process.kill();
                    return Ok(());
                }
                self.guests.member.process.note_base();
                if self.guests.member.advance(Stage::Started).is_none() {
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
            FromGuests::Spared(spares) => {
                let member = &self.guests.member;
                member.stock.note_answer(spares.len())?;
                let mut back = Vec::new();
                for spare in spares {
                    member.check.spared(spare.0, &spare.1)?;
                    back.extend(member.stock.keep(spare));
                }
                member.give_back(back);
            }
            FromGuests::Reclaim => self.guests.member.give_back(self.guests.member.stock.take_all()),
            FromGuests::Counts(counts) => self.guests.member.show_counts(*counts),
            FromGuests::Turns(news) => self.guests.pools.hear_of_turns(self.guests.member.id, news)?,
            FromGuests::Memory(news) => self.guests.pools.hear_of_memory(self.guests.member.id, news),
            FromGuests::Stopped(counts) => {
                // One that stops without being asked to ends, which is noticed.
                self.guests.member.advance(Stage::Stopped(counts));
            }
            FromGuests::Refused(_) => return Err("its reason is too long".to_owned()),
        }
        Ok(())
    }

    fn end_start(&self, stage: Stage) -> Result<(), String> {
        let before = self.guests.member.advance(stage);
        before.map(drop).ok_or_else(|| "it refused a run that it had started".to_owned())
    }

    fn hear_notice(&mut self, notice: Notice) -> Result<(), String> {
        let member = &self.guests.member;
        if member.check.notice(&notice)? == Verdict::Drop {
            return Ok(());
        }
        match notice {
            Notice::Activity { workers, ahead_ns, jobs, jobs_dropped } => {
                member.show_activity(workers, ahead_ns, (jobs, jobs_dropped));
            }
            Notice::Progress(..) if !self.progress.admits(Instant::now()) => {}
            Notice::Offered(mut jobs) => {
                let more = member.check.more_of_answer();
                if jobs.is_empty() {
                    // Jobs that were spared meanwhile are as good as those that were asked for.
                    jobs = member.stock.take(more);
                }
                member.lend(jobs, more, &self.guests.notify);
            }
            Notice::Abandoned { number } => match member.stock.forget(number) {
                Some(spare) => member.give_back(Some(spare)),
                None => member.pass_on(notice, &self.guests.notify),
            },
            notice => member.pass_on(notice, &self.guests.notify),
        }
        Ok(())
    }
}
