//! What a host sends to a process of guests. The driver's thread sends, and never waits: what the process does not read at
//! once is kept, and a thread sends it as the process reads.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::channel::{Channel, FRAME_BYTES_MAX, Frame, is_large};
use super::wire::ToGuests;

/// Maximum frames that are kept for a process that does not read, and of those, maximum frames with memory of their own,
/// each of which needs a descriptor.
const FRAMES_MAX: usize = 100_000;
const LARGE_FRAMES_MAX: usize = 128;
/// Maximum size of all frames that are kept, in bytes.
const BYTES_MAX: usize = 256 << 20;
/// How often a thread tries to send what is kept.
const RETRY: Duration = Duration::from_millis(1);

/// The way to a process of guests.
#[derive(Debug)]
pub struct Mailbox {
    channel: Arc<Channel>,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    /// Messages that are sent together.
    gathered: Frame,
    frames: VecDeque<Frame>,
    /// The size of all, and the number of large ones.
    bytes: usize,
    large: usize,
    /// Since when the process has read nothing.
    since: Option<Instant>,
    is_closed: bool,
}

/// The process reads nothing, or is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unread;

impl Mailbox {
    /// Nothing is kept yet.
    pub fn new(channel: Arc<Channel>) -> Arc<Self> {
        let kept = Kept {
            gathered: Frame::empty(),
            frames: VecDeque::new(),
            bytes: 0,
            large: 0,
            since: None,
            is_closed: false,
        };
        Arc::new(Self { channel, kept: Mutex::new(kept) })
    }

    /// Keeps a message for [`flush`](Self::flush), or until another one is sent: a process that is woken once for several
    /// messages takes less of the processor than one that is woken for each.
    ///
    /// # Errors
    /// Those of [`post`](Self::post).
    pub fn gather(self: &Arc<Self>, message: &ToGuests) -> Result<(), Unread> {
        if is_large(message) {
            return self.post(message);
        }
        let mut kept = self.kept.lock();
        if kept.gathered.push(message).is_err() {
            return Err(Unread);
        }
        if kept.gathered.len() >= FRAME_BYTES_MAX / 2 { self.send_gathered(&mut kept) } else { Ok(()) }
    }

    /// Sends the messages that were gathered.
    ///
    /// # Errors
    /// Those of [`post`](Self::post).
    pub fn flush(self: &Arc<Self>) -> Result<(), Unread> {
        self.send_gathered(&mut self.kept.lock())
    }

    fn send_gathered(self: &Arc<Self>, kept: &mut Kept) -> Result<(), Unread> {
        if kept.gathered.is_empty() {
            return Ok(());
        }
        let frame = std::mem::replace(&mut kept.gathered, Frame::empty()).seal(Vec::new());
        self.send_now(kept, frame.map_err(|_| Unread)?)
    }

    /// Sends a message, at once if the process reads.
    ///
    /// # Errors
    /// If too much is kept already. A process that is gone is not an error: others notice that.
    pub fn post(self: &Arc<Self>, message: &ToGuests) -> Result<(), Unread> {
        match Frame::of(message, Vec::new()) {
            Ok(frame) => self.send(frame),
            // The system has no memory for a large message, without which the process cannot continue.
            Err(_) => Err(Unread),
        }
    }

    /// The same for a frame.
    ///
    /// # Errors
    /// Those of [`post`](Self::post).
    pub fn send(self: &Arc<Self>, frame: Frame) -> Result<(), Unread> {
        let mut kept = self.kept.lock();
        self.send_gathered(&mut kept)?;
        self.send_now(&mut kept, frame)
    }

    fn send_now(self: &Arc<Self>, kept: &mut Kept, frame: Frame) -> Result<(), Unread> {
        if kept.is_closed {
            return Ok(());
        }
        if kept.frames.is_empty() {
            match self.channel.send(&frame, false) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(_) => {
                    kept.is_closed = true;
                    return Ok(());
                }
            }
            kept.since = Some(Instant::now());
            self.send_later().map_err(|_| Unread)?;
        }
        kept.bytes += frame.weight();
        kept.large += usize::from(frame.is_large());
        kept.frames.push_back(frame);
        let is_too_much =
            kept.frames.len() > FRAMES_MAX || kept.large > LARGE_FRAMES_MAX || kept.bytes > BYTES_MAX;
        if is_too_much { Err(Unread) } else { Ok(()) }
    }

    /// For how long the process has not read what is kept for it.
    pub fn unread_for(&self) -> Option<Duration> {
        self.kept.lock().since.map(|since| since.elapsed())
    }

    /// Sends nothing more.
    pub fn close(&self) {
        let mut kept = self.kept.lock();
        kept.is_closed = true;
        kept.gathered = Frame::empty();
        kept.frames.clear();
        kept.since = None;
    }

    fn send_later(self: &Arc<Self>) -> io::Result<()> {
        let mailbox = Arc::clone(self);
        let send = move || {
            loop {
                std::thread::sleep(RETRY);
                if mailbox.send_kept() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("sateen-mailbox".to_owned()).spawn(send).map(drop)
    }

    /// Sends what is kept, as far as the process reads; true if nothing is left.
    fn send_kept(&self) -> bool {
        let mut kept = self.kept.lock();
        while let Some(frame) = kept.frames.front() {
            match self.channel.send(frame, false) {
                Ok(true) => {
                    let (weight, is_large) = (frame.weight(), frame.is_large());
                    kept.frames.pop_front();
                    kept.bytes -= weight;
                    kept.large -= usize::from(is_large);
                    kept.since = Some(Instant::now());
                }
                Ok(false) => return false,
                Err(_) => {
                    kept.is_closed = true;
                    kept.frames.clear();
                }
            }
        }
        kept.since = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_read_is_kept_and_sent_in_order() {
        let (here, there) = Channel::pair().expect("sockets");
        let there = Channel::from(there);
        let mailbox = Mailbox::new(Arc::new(here));
        for number in 0..5000 {
            mailbox.post(&ToGuests::Resident(number)).expect("it is kept");
        }
        assert!(mailbox.unread_for().is_some());
        let mut buffer = Vec::new();
        for number in 0..5000 {
            let received = there.receive::<ToGuests>(&mut buffer, 0).expect("sound").expect("open");
            assert!(matches!(received.messages[..], [ToGuests::Resident(bytes)] if bytes == number));
        }
        while mailbox.unread_for().is_some() {
            std::thread::yield_now();
        }
        drop(there);
        mailbox.post(&ToGuests::Stop).expect("that it is gone is noticed elsewhere");
    }

    #[test]
    fn gathered_messages_come_in_one_frame_and_before_later_ones() {
        let (here, there) = Channel::pair().expect("sockets");
        let there = Channel::from(there);
        let mailbox = Mailbox::new(Arc::new(here));
        let mut buffer = Vec::new();
        let mut received = || {
            let received = there.receive::<ToGuests>(&mut buffer, 0).expect("sound").expect("open");
            let number = |message: ToGuests| match message {
                ToGuests::Resident(bytes) => bytes,
                other => panic!("{other:?} was not sent"),
            };
            received.messages.into_iter().map(number).collect::<Vec<_>>()
        };
        mailbox.flush().expect("there is nothing to send");
        for number in [1, 2] {
            mailbox.gather(&ToGuests::Resident(number)).expect("it is kept");
        }
        mailbox.flush().expect("it is sent");
        assert_eq!(received(), [1, 2]);
        mailbox.gather(&ToGuests::Resident(3)).expect("it is kept");
        mailbox.post(&ToGuests::Resident(4)).expect("it is sent");
        assert_eq!((received(), received()), (vec![3], vec![4]));
    }

    #[test]
    fn a_process_that_never_reads_is_an_error() {
        let (here, _there) = Channel::pair().expect("sockets");
        let mailbox = Mailbox::new(Arc::new(here));
        let count = (0..).take_while(|_| mailbox.post(&ToGuests::Stop).is_ok()).count();
        assert!(count >= FRAMES_MAX);
        mailbox.close();
        assert!(mailbox.unread_for().is_none());
    }
}
