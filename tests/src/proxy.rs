//! A TCP proxy that delays, slows down or blocks the bytes that it forwards.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum bytes that are read at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Maximum pieces in transit through a proxy.
const PIECES_MAX: usize = 1 << 20;
/// Maximum pieces in transit through a slow proxy: few enough that senders notice.
const PIECES_WAITING_MAX: usize = 2;

/// Listens on loopback and forwards everything to another address, both ways, until it is dropped.
pub struct Proxy {
    address: SocketAddr,
    link: Arc<Link>,
}

/// The state of all connections through one proxy.
struct Link {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    delay: Duration,
    /// Bandwidth of each connection, each way; 0 is unlimited.
    bytes_per_second: usize,
    /// While blocked, bytes and new connections wait; nothing is lost, as when TCP repeats lost packets.
    held: Option<Held>,
    closed: bool,
    streams: Vec<TcpStream>,
}

/// The blocked directions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Everything,
    /// Only bytes to the target.
    ToTarget,
}

impl Proxy {
    /// Forwards to `target`, each way with a delay.
    pub fn start(target: SocketAddr, delay: Duration) -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST, target, delay)
    }

    /// As `start`, at another address of this machine.
    ///
    /// # Panics
    /// When the address is not one of this machine.
    pub fn start_at(address: Ipv4Addr, target: SocketAddr, delay: Duration) -> Self {
        let listener = TcpListener::bind((address, 0)).expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let state = State { delay, bytes_per_second: 0, held: None, closed: false, streams: Vec::new() };
        let link = Arc::new(Link { state: Mutex::new(state), changed: Condvar::new() });
        let of_thread = link.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                if of_thread.lock().closed {
                    break;
                }
                let link = of_thread.clone();
                thread::spawn(move || link.connect(stream, target));
            }
        });
        Self { address, link }
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL, for clients of a coordinator.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Limits the bandwidth of each new connection, each way.
    pub fn limit(&self, bytes_per_second: usize) {
        self.link.change(|state| state.bytes_per_second = bytes_per_second);
    }

    /// Blocks everything from now on, without closing connections.
    pub fn partition(&self) {
        self.link.change(|state| state.held = Some(Held::Everything));
    }

    /// Blocks bytes to the target from now on, but not those that it sends.
    pub fn partition_to_target(&self) {
        self.link.change(|state| state.held = Some(Held::ToTarget));
    }

    /// Forwards waiting bytes.
    pub fn heal(&self) {
        self.link.change(|state| state.held = None);
    }

    /// Ends all connections; new ones are accepted.
    pub fn cut(&self) {
        self.link.change(State::cut);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.link.change(|state| {
            state.closed = true;
            state.cut();
        });
        // Wakes the listener, which then notices the end.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn cut(&mut self) {
        for stream in self.streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Link {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Returns when bytes may pass, with the delay; `None` at the end.
    fn await_passage(&self, to_target: bool) -> Option<Duration> {
        let state = self.lock();
        let waits = |state: &mut State| {
            let is_held = match state.held {
                None => false,
                Some(Held::Everything) => true,
                Some(Held::ToTarget) => to_target,
            };
            is_held && !state.closed
        };
        let state = self.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
        (!state.closed).then_some(state.delay)
    }

    fn connect(self: &Arc<Self>, near: TcpStream, target: SocketAddr) {
        if self.await_passage(true).is_none() {
            return;
        }
        let Ok(far) = TcpStream::connect(target) else { return };
        let _ = (near.set_nodelay(true), far.set_nodelay(true));
        for (from, to, to_target) in [(&near, &far, true), (&far, &near, false)] {
            let (Ok(from), Ok(to), Ok(kept)) = (from.try_clone(), to.try_clone(), from.try_clone()) else {
                return;
            };
            self.lock().streams.push(kept);
            // A slow network accepts only as many bytes as it has room for.
            let is_slow = self.lock().bytes_per_second > 0;
            let (sender, receiver) = sync_channel(if is_slow { PIECES_WAITING_MAX } else { PIECES_MAX });
            let link = self.clone();
            thread::spawn(move || read_all(from, &sender));
            thread::spawn(move || link.write_all(&receiver, to, to_target));
        }
    }

    /// Writes each piece when its time has come.
    fn write_all(&self, pieces: &Receiver<(Instant, Vec<u8>)>, mut to: TcpStream, to_target: bool) {
        for (read_at, piece) in pieces {
            let Some(delay) = self.await_passage(to_target) else { break };
            thread::sleep((read_at + delay).saturating_duration_since(Instant::now()));
            let rate = self.lock().bytes_per_second;
            if rate > 0 {
                thread::sleep(Duration::from_secs_f64(piece.len() as f64 / rate as f64));
            }
            if self.await_passage(to_target).is_none() || to.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    }
}

fn read_all(mut from: TcpStream, pieces: &SyncSender<(Instant, Vec<u8>)>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        if pieces.send((Instant::now(), chunk[..count].to_vec())).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An echo server.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
            }
        });
        address
    }

    fn ask(stream: &mut TcpStream, byte: u8) -> std::io::Result<u8> {
        stream.write_all(&[byte])?;
        let mut answer = [0];
        stream.read_exact(&mut answer)?;
        Ok(answer[0])
    }

    #[test]
    fn bytes_pass_both_ways_with_a_delay() {
        let proxy = Proxy::start(echo(), Duration::from_millis(30));
        let mut stream = TcpStream::connect(proxy.address()).expect("it listens");
        let started = Instant::now();
        assert_eq!(ask(&mut stream, 7).expect("an answer"), 7);
        assert!(started.elapsed() >= Duration::from_millis(60), "{:?}", started.elapsed());
    }

    #[test]
    fn a_partition_holds_bytes_back_and_heals() {
        let proxy = Proxy::start(echo(), Duration::ZERO);
        let mut stream = TcpStream::connect(proxy.address()).expect("it listens");
        assert_eq!(ask(&mut stream, 1).expect("an answer"), 1);
        proxy.partition();
        stream.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
        assert!(ask(&mut stream, 2).is_err(), "nothing passes");
        proxy.heal();
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        let mut late = [0];
        stream.read_exact(&mut late).expect("what waited passes");
        assert_eq!(late, [2]);
    }

    #[test]
    fn a_partition_of_one_direction_lets_the_other_pass() {
        let proxy = Proxy::start(echo(), Duration::ZERO);
        let mut stream = TcpStream::connect(proxy.address()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
        proxy.partition_to_target();
        assert!(ask(&mut stream, 1).is_err(), "the echo hears nothing");
        proxy.heal();
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        assert_eq!(ask(&mut stream, 2).expect("an answer"), 1, "what waited comes first");
    }

    #[test]
    fn a_cut_ends_connections_and_new_ones_work() {
        let proxy = Proxy::start(echo(), Duration::ZERO);
        let mut stream = TcpStream::connect(proxy.address()).expect("it listens");
        assert_eq!(ask(&mut stream, 1).expect("an answer"), 1);
        proxy.cut();
        assert!(ask(&mut stream, 2).is_err());
        let mut stream = TcpStream::connect(proxy.address()).expect("it listens still");
        assert_eq!(ask(&mut stream, 3).expect("an answer"), 3);
    }
}
