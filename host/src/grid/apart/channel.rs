//! The channel between a host and a process of its guests: a pair of sockets that keep the boundaries of frames, which
//! may carry descriptors.
//!
//! ```text
//! kind (1 byte) │ body
//!                 0 small   messages one after the other, postcard
//!                 1 large   nothing: the messages are in the first descriptor, memory that cannot change any more
//! ```

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use sateen_protocol::frugal::{self, Budget};

use super::sealed;

/// Maximum size of a frame, in bytes; larger messages are in memory of their own.
pub const FRAME_BYTES_MAX: usize = 48 << 10;
/// Maximum number of descriptors with a frame.
pub const DESCRIPTORS_MAX: usize = 3;
/// Maximum number of messages in a frame.
const MESSAGES_MAX: usize = 8192;

const SMALL: u8 = 0;
const LARGE: u8 = 1;

/// Why nothing more comes from the other side.
#[derive(Debug, Error)]
pub enum ChannelError {
    /// The system has failed.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The other side has broken the rules.
    #[error("{0}")]
    Broken(String),
    /// The other side has sent nothing for as long as it may be silent.
    #[error("the other side is silent")]
    Silent,
}

fn broken(why: impl Into<String>) -> ChannelError {
    ChannelError::Broken(why.into())
}

/// A frame to be sent.
#[derive(Debug)]
pub struct Frame {
    bytes: Vec<u8>,
    /// The size of messages that are in memory of their own.
    large_bytes: usize,
    descriptors: Vec<OwnedFd>,
}

/// Whether a message does not fit into a frame.
pub fn is_large<M: Serialize>(message: &M) -> bool {
    encoded_bytes(message) >= FRAME_BYTES_MAX
}

/// The size of an encoded message, in bytes.
fn encoded_bytes<M: Serialize>(message: &M) -> usize {
    postcard::serialize_with_flavor(message, postcard::ser_flavors::Size::default()).unwrap_or(0)
}

impl Frame {
    /// A frame of one message, with descriptors.
    ///
    /// # Errors
    /// If the system has no memory for a large one.
    pub fn of<M: Serialize>(message: &M, descriptors: Vec<OwnedFd>) -> io::Result<Self> {
        let mut frame = Self::empty();
        let bytes = encoded_bytes(message);
        if bytes < FRAME_BYTES_MAX {
            frame.push(message)?;
        } else {
            frame.descriptors.push(sealed::write_message("sateen-message", message)?);
            (frame.large_bytes, frame.bytes) = (bytes, vec![LARGE]);
        }
        frame.seal(descriptors)
    }

    /// A frame without messages, to which some are added before it is [sealed](Self::seal).
    pub fn empty() -> Self {
        Self { bytes: vec![SMALL], large_bytes: 0, descriptors: Vec::new() }
    }

    /// Whether it has no message.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() <= 1
    }

    /// Its size, in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The memory that it takes until it is received, in bytes.
    pub fn weight(&self) -> usize {
        self.bytes.len() + self.large_bytes
    }

    /// Whether its messages are in memory of their own.
    pub fn is_large(&self) -> bool {
        self.large_bytes > 0
    }

    /// Adds a message; a [large one](is_large) better has a frame of its own.
    ///
    /// # Errors
    /// Never for messages that can be encoded.
    pub fn push<M: Serialize>(&mut self, message: &M) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes = postcard::to_extend(message, bytes).map_err(io::Error::other)?;
        Ok(())
    }

    /// Makes it ready to be sent: the messages of a large one are put into memory of their own.
    ///
    /// # Errors
    /// If the system has no memory for them.
    pub fn seal(mut self, descriptors: Vec<OwnedFd>) -> io::Result<Self> {
        if self.bytes.len() > FRAME_BYTES_MAX {
            self.descriptors.push(sealed::write("sateen-message", &[&self.bytes[1..]])?);
            (self.large_bytes, self.bytes) = (self.bytes.len(), vec![LARGE]);
        }
        self.descriptors.extend(descriptors);
        Ok(self)
    }
}

/// Messages that have come, and their descriptors.
#[derive(Debug)]
pub struct Received<M> {
    /// The messages.
    pub messages: Vec<M>,
    /// The descriptors.
    pub descriptors: Vec<OwnedFd>,
}

/// One end of a channel.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl From<OwnedFd> for Channel {
    fn from(socket: OwnedFd) -> Self {
        Self(socket)
    }
}

impl Channel {
    /// Both ends of a new channel: one for this process, and one for the child.
    ///
    /// # Errors
    /// If the system has no such sockets.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (here, there) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self(here), there))
    }

    /// The end that this process was started with, as its standard input.
    ///
    /// # Errors
    /// If it was started without one.
    pub fn inherited() -> io::Result<Self> {
        let stdin = io::stdin().as_fd().try_clone_to_owned()?;
        rustix::net::sockopt::socket_type(&stdin)?;
        Ok(Self(stdin))
    }

    /// From now on, to receive is an error if nothing comes for this time.
    ///
    /// # Errors
    /// If the system does not time sockets.
    pub fn expect_within(&self, silence_max: Duration) -> io::Result<()> {
        Ok(set_socket_timeout(&self.0, Timeout::Recv, Some(silence_max))?)
    }

    /// Sends a frame, and waits for the other side to read if `waits`. Returns false if it would have to wait.
    ///
    /// # Errors
    /// If the other side is gone.
    pub fn send(&self, frame: &Frame, waits: bool) -> io::Result<bool> {
        let descriptors: Vec<BorrowedFd<'_>> = frame.descriptors.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let flags = if waits { SendFlags::NOSIGNAL } else { SendFlags::NOSIGNAL | SendFlags::DONTWAIT };
        loop {
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
                return Err(io::Error::other("too many descriptors"));
            }
            match sendmsg(&self.0, &[IoSlice::new(&frame.bytes)], &mut ancillary, flags) {
                Ok(_) => return Ok(true),
                Err(rustix::io::Errno::AGAIN) if !waits => return Ok(false),
                Err(rustix::io::Errno::INTR) => {}
                // The system has no memory for it now.
                Err(rustix::io::Errno::NOBUFS | rustix::io::Errno::TOOMANYREFS) if !waits => {
                    return Ok(false);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for a frame; `None` if the other side has closed the channel. A message has at most `large_bytes_max` bytes,
    /// and takes no more memory than its bytes are worth. The other side need not be trusted.
    ///
    /// # Errors
    /// If the other side has broken the rules or [is silent](Self::expect_within), or the system fails.
    pub fn receive<M: DeserializeOwned>(
        &self,
        buffer: &mut Vec<u8>,
        large_bytes_max: usize,
    ) -> Result<Option<Received<M>>, ChannelError> {
        let frame = self.take(buffer, RecvFlags::empty())?;
        frame.map(|frame| frame.open(buffer, large_bytes_max)).transpose()
    }

    /// Takes a frame if there is one, without reading its messages; `None` if the other side has closed the channel.
    ///
    /// # Errors
    /// `WouldBlock` if there is none yet; else as [`receive`](Self::receive).
    pub fn try_take(&self, buffer: &mut Vec<u8>) -> io::Result<Result<Option<Taken>, ChannelError>> {
        match self.take(buffer, RecvFlags::DONTWAIT) {
            Err(ChannelError::Silent) => Err(io::ErrorKind::WouldBlock.into()),
            taken => Ok(taken),
        }
    }

    fn take(&self, buffer: &mut Vec<u8>, flags: RecvFlags) -> Result<Option<Taken>, ChannelError> {
        buffer.resize(FRAME_BYTES_MAX, 0);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let flags = flags | RecvFlags::CMSG_CLOEXEC;
        loop {
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            match recvmsg(&self.0, &mut [IoSliceMut::new(buffer)], &mut ancillary, flags) {
                Ok(received) => {
                    let descriptors = ancillary.drain().filter_map(|message| match message {
                        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
                        _ => None,
                    });
                    let descriptors: Vec<OwnedFd> = descriptors.flatten().collect();
                    if received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
                        return Err(broken("a frame is too long, or has too many descriptors"));
                    }
                    let kind = buffer[..received.bytes].first();
                    return Ok(kind.map(|kind| Taken { kind: *kind, bytes: received.bytes, descriptors }));
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::CONNRESET) => return Ok(None),
                Err(rustix::io::Errno::AGAIN) => return Err(ChannelError::Silent),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }
}

impl AsRawFd for Channel {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// A frame that has come, whose messages are not read yet.
#[derive(Debug)]
pub struct Taken {
    kind: u8,
    bytes: usize,
    descriptors: Vec<OwnedFd>,
}

impl Taken {
    /// Whether its messages are in memory of their own, and not in the buffer.
    pub fn is_large(&self) -> bool {
        self.kind == LARGE
    }

    /// Reads its messages, which are in `buffer` if it is not [large](Self::is_large).
    ///
    /// # Errors
    /// If the other side has broken the rules.
    pub fn open<M: DeserializeOwned>(
        mut self,
        buffer: &[u8],
        large_bytes_max: usize,
    ) -> Result<Received<M>, ChannelError> {
        let messages = match self.kind {
            SMALL => decode(&buffer[1..self.bytes])?,
            LARGE if self.bytes == 1 && !self.descriptors.is_empty() => {
                decode(&sealed::read(&self.descriptors.remove(0), large_bytes_max).map_err(broken)?)?
            }
            kind => return Err(broken(format!("a frame has the unknown kind {kind}"))),
        };
        Ok(Received { messages, descriptors: self.descriptors })
    }
}

fn decode<M: DeserializeOwned>(mut bytes: &[u8]) -> Result<Vec<M>, ChannelError> {
    let budget = Budget::for_bytes(bytes.len());
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        if messages.len() == MESSAGES_MAX {
            return Err(broken("a frame has too many messages"));
        }
        let (message, rest) = frugal::take_within(bytes, &budget)
            .map_err(|error| broken(format!("a message cannot be read: {error}")))?;
        messages.push(message);
        bytes = rest;
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Channel, Channel) {
        let (here, there) = Channel::pair().expect("sockets");
        (here, Channel(there))
    }

    fn receive(channel: &Channel) -> Result<Option<Received<Vec<u8>>>, ChannelError> {
        channel.receive(&mut Vec::new(), 1 << 20)
    }

    #[test]
    fn small_and_large_messages_arrive_in_order() {
        let (here, there) = pair();
        let mut frame = Frame::empty();
        assert!(frame.is_empty());
        for length in [1_u8, 2] {
            frame.push(&vec![length; usize::from(length)]).expect("it encodes");
        }
        let frame = frame.seal(Vec::new()).expect("memory");
        let large = vec![7_u8; 500_000];
        assert!(here.send(&frame, false).expect("sent"));
        assert!(here.send(&Frame::of(&large, Vec::new()).expect("memory"), false).expect("sent"));
        let received = receive(&there).expect("sound").expect("open");
        assert_eq!(received.messages, [vec![1], vec![2, 2]]);
        let received = receive(&there).expect("sound").expect("open");
        assert_eq!((received.messages, received.descriptors.len()), (vec![large], 0));
        drop(here);
        assert!(receive(&there).expect("sound").is_none());
    }

    #[test]
    fn silence_is_an_error_that_ends_with_it() {
        let (here, there) = pair();
        there.expect_within(Duration::from_millis(20)).expect("sockets are timed");
        for _ in 0..2 {
            assert!(matches!(receive(&there), Err(ChannelError::Silent)));
            here.send(&Frame::of(&vec![1_u8], Vec::new()).expect("small"), false).expect("sent");
            assert!(receive(&there).expect("sound").is_some());
        }
    }

    #[test]
    fn a_side_that_does_not_read_blocks_no_other_and_one_that_breaks_the_rules_is_refused() {
        let (here, there) = pair();
        let frame = Frame::of(&vec![0_u8; 30_000], Vec::new()).expect("small");
        let sent = (0..1000).take_while(|_| here.send(&frame, false).expect("open")).count();
        assert!((1..1000).contains(&sent));
        for (bytes, what) in [
            (vec![9], "kind"),
            (vec![LARGE], "kind"),
            (vec![SMALL, 0xff, 0xff, 0xff, 0xff, 0x0f], "cannot be read"),
            (vec![SMALL; FRAME_BYTES_MAX + 1], "too long"),
        ] {
            let (here, there) = pair();
            here.send(&Frame { bytes, ..Frame::empty() }, false).expect("sent");
            let error = receive(&there).expect_err("it is broken").to_string();
            assert!(error.contains(what), "{error}");
        }
        // Memory that can still change, and something that is not memory.
        let file: OwnedFd = tempfile::tempfile().expect("a file").into();
        let (another, _) = pair();
        for descriptor in [file, another.0] {
            let (here, there) = pair();
            let frame = Frame { bytes: vec![LARGE], descriptors: vec![descriptor], ..Frame::empty() };
            here.send(&frame, false).expect("sent");
            let error = receive(&there).expect_err("it is broken").to_string();
            assert!(error.contains("memory"), "{error}");
        }
        drop(there);
    }
}
