//! What a process of guests sends to its host. Workers only put it into a queue, and a thread sends it. The main thread
//! sends what follows from a command itself, without waking the other: a thief elsewhere waits for that.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use sateen_protocol::Counts;
use sateen_protocol::host::Notice;

use super::channel::{Channel, FRAME_BYTES_MAX, Frame, is_large};
use super::wire::FromGuests;
use crate::HostMemory;
use crate::grid::portion_runtime::counts_of;
use crate::portion::Observer;

/// Interval of counts while there are instances.
const COUNTED_EVERY: Duration = Duration::from_millis(200);

/// The way to the host.
pub struct Outbox {
    queue: Arc<Queue>,
    channel: Arc<Channel>,
    thread: Option<JoinHandle<()>>,
}

struct Queue {
    waiting: Mutex<VecDeque<FromGuests>>,
    filled: Condvar,
    /// `None` before the portion has started and after the end.
    post: Mutex<Option<Post>>,
    main: ThreadId,
}

impl Outbox {
    /// The main thread's. Nothing is sent yet.
    pub fn new(channel: Arc<Channel>) -> Self {
        let queue = Queue {
            waiting: Mutex::default(),
            filled: Condvar::new(),
            post: Mutex::new(None),
            main: thread::current().id(),
        };
        Self { queue: Arc::new(queue), channel, thread: None }
    }

    /// A function that sends something, and returns at once.
    pub fn sender<T, W>(&self, wrap: W) -> impl Fn(T) + Send + Sync + use<T, W>
    where
        W: Fn(T) -> FromGuests + Send + Sync,
    {
        let queue = self.queue.clone();
        move |what| queue.push(wrap(what))
    }

    /// A function that sends several messages, and returns at once.
    pub fn sender_of_many(&self) -> impl Fn(&mut dyn Iterator<Item = FromGuests>) + Send + Sync + use<> {
        let queue = self.queue.clone();
        move |messages| queue.push_all(messages)
    }

    /// Begins to send.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(&mut self, portion: Observer, memory: Option<HostMemory>) -> io::Result<()> {
        *self.queue.post.lock() = Some(Post { channel: self.channel.clone(), portion, memory, told: None });
        let queue = self.queue.clone();
        self.thread = Some(thread::Builder::new().name("sateen-post".to_owned()).spawn(move || queue.run())?);
        Ok(())
    }

    /// Sends what the main thread has caused, unless the other thread is sending already.
    pub fn flush(&self) {
        if self.queue.waiting.lock().is_empty() {
            return;
        }
        match self.queue.post.try_lock() {
            Some(mut post) => drop(post.as_mut().map(|post| post.send_all(&self.queue.waiting))),
            None => drop(self.queue.filled.notify_one()),
        }
    }

    /// Sends what is waiting, and then nothing more.
    pub fn end(mut self) {
        let post = self.queue.post.lock().take();
        if let Some(mut post) = post {
            let _ = post.send_all(&self.queue.waiting);
        }
        self.queue.filled.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Queue {
    fn push(&self, message: FromGuests) {
        self.push_all(&mut std::iter::once(message));
    }

    fn push_all(&self, messages: &mut dyn Iterator<Item = FromGuests>) {
        let mut waiting = self.waiting.lock();
        messages.for_each(|message| push(&mut waiting, message));
        drop(waiting);
        if thread::current().id() != self.main {
            self.filled.notify_one();
        }
    }

    /// The thread's loop; it ends when nothing more is to be sent, or the host is gone. However much else there is to send, the
    /// counts are sent in time.
    fn run(&self) {
        let mut is_active = true;
        let mut counted_next = Instant::now() + COUNTED_EVERY;
        loop {
            let mut waiting = self.waiting.lock();
            match (waiting.is_empty(), is_active) {
                (true, true) => drop(self.filled.wait_until(&mut waiting, counted_next)),
                (true, false) => self.filled.wait(&mut waiting),
                (false, _) => {}
            }
            drop(waiting);
            let mut post = self.post.lock();
            let Some(post) = post.as_mut() else { return };
            if post.send_all(&self.waiting).is_err() {
                return;
            }
            let now = Instant::now();
            if is_active && now < counted_next {
                continue;
            }
            let Ok(is_changed) = post.send_counts() else { return };
            // Whatever has woken this thread may be the begin of more.
            is_active = !is_active || is_changed || post.portion.counts().instances > 0;
            counted_next = now + COUNTED_EVERY;
        }
    }
}

/// Adds a message. Of reports of progress one after the other, only the last one says anything: a guest may make them faster
/// than they can be sent.
fn push(waiting: &mut VecDeque<FromGuests>, message: FromGuests) {
    let is_progress = |message: &FromGuests| matches!(message, FromGuests::Notice(Notice::Progress(..)));
    match waiting.back_mut().filter(|last| is_progress(last) && is_progress(&message)) {
        Some(last) => *last = message,
        None => waiting.push_back(message),
    }
}

/// The length of the result in a notice.
pub fn bytes_of_result(notice: &Notice) -> usize {
    match notice {
        Notice::Finished { finished, .. } => finished.outcome.bytes().len(),
        _ => 0,
    }
}

struct Post {
    channel: Arc<Channel>,
    portion: Observer,
    /// The guests' memory, of which results that wait here take a part.
    memory: Option<HostMemory>,
    /// The counts that were last reported to the host.
    told: Option<Counts>,
}

impl Post {
    /// Sends all that waits, in as few frames as possible.
    fn send_all(&mut self, waiting: &Mutex<VecDeque<FromGuests>>) -> io::Result<()> {
        let (mut frame, mut result_bytes) = (Frame::empty(), 0);
        loop {
            let Some(message) = waiting.lock().pop_front() else { break };
            if let FromGuests::Notice(notice) = &message {
                // A recorded result is reported no earlier than its work.
                let is_counted =
                    matches!(notice, Notice::Finished { .. } | Notice::Recorded { .. } | Notice::Drained);
                if is_counted {
                    self.count(&mut frame)?;
                }
                result_bytes += bytes_of_result(notice);
            }
            if is_large(&message) {
                self.send(std::mem::replace(&mut frame, Frame::empty()))?;
                self.channel.send(&Frame::of(&message, Vec::new())?, true)?;
                continue;
            }
            frame.push(&message)?;
            if frame.len() >= FRAME_BYTES_MAX / 2 {
                self.send(std::mem::replace(&mut frame, Frame::empty()))?;
            }
        }
        let sent = self.send(frame);
        if let Some(memory) = self.memory.as_ref().filter(|_| result_bytes > 0) {
            memory.take_result(result_bytes);
        }
        sent
    }

    /// Sends the counts if they have changed; returns whether they have.
    fn send_counts(&mut self) -> io::Result<bool> {
        let mut frame = Frame::empty();
        let is_changed = self.count(&mut frame)?;
        self.send(frame)?;
        Ok(is_changed)
    }

    /// Adds the counts and the activity, if the counts have changed; returns whether they have.
    fn count(&mut self, frame: &mut Frame) -> io::Result<bool> {
        let counts = counts_of(&self.portion.counts());
        if self.told.as_ref() == Some(&counts) {
            return Ok(false);
        }
        self.told = Some(counts);
        frame.push(&FromGuests::Counts(Box::new(counts)))?;
        if let Some(activity) = self.portion.activity() {
            frame.push(&FromGuests::Notice(activity))?;
        }
        Ok(true)
    }

    fn send(&self, frame: Frame) -> io::Result<()> {
        if !frame.is_empty() {
            self.channel.send(&frame.seal(Vec::new())?, true)?;
        }
        Ok(())
    }
}
