//! A process of guests that breaks the rules, in the way that its own name says. It is started instead of `sateen-host
//! guests`, by tests of what a host does about it.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use sateen_protocol::host::Notice;
use sateen_protocol::{Finished, HeldId, JobKey, JobSpec, Outcome, RuntimeJobId};

/// A frame of messages.
const SMALL: u8 = 0;
/// A message that the process has started, without walls.
const STARTED: [u8; 2] = [0, 0];
/// The kind of a message with a spared job.
const SPARED: u8 = 10;

fn main() {
    let name = std::env::args().next().unwrap_or_default();
    let way = name.rsplit('/').next().unwrap_or_default().to_owned();
    let socket = std::io::stdin().as_fd().try_clone_to_owned().expect("it is started with a channel");
    let mut socket = UnixStream::from(socket);
    let mut first = vec![0; 64 << 10];
    let length = socket.read(&mut first).expect("it is sent what to run");
    assert!(length > 0);
    match way.as_str() {
        "garbage" => {
            let noise: Vec<u8> =
                (0..1000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
            send(&mut socket, &noise);
        }
        "huge-length" => send(&mut socket, &[SMALL, 2, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        "huge-frame" => send(&mut socket, &vec![SMALL; 100_000]),
        "large-without-memory" => send(&mut socket, &[1]),
        "early" => notify(&mut socket, &Notice::Exposed),
        "twice" => {
            start(&mut socket);
            start(&mut socket);
        }
        "lends-unasked" => {
            start(&mut socket);
            let job = JobSpec::new(JobKey([7; 32]), 0, vec![1]);
            notify(&mut socket, &Notice::Offered(vec![(RuntimeJobId(1), job)]));
        }
        "spares-unasked" => {
            start(&mut socket);
            let job = JobSpec::new(JobKey([7; 32]), 0, vec![1]);
            let spare = postcard::to_allocvec(&vec![(RuntimeJobId(1), job)]).expect("it encodes");
            send(&mut socket, &[&[SMALL, SPARED], &spare[..]].concat());
        }
        "wrong-ids" => {
            start(&mut socket);
            let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 };
            notify(&mut socket, &Notice::Finished { held: HeldId(99), finished });
            notify(&mut socket, &Notice::Abandoned { number: RuntimeJobId(99) });
            notify(&mut socket, &Notice::Begun { held: HeldId(99), worker: 0, late_ns: 0 });
            notify(&mut socket, &Notice::Drained);
            notify(&mut socket, &Notice::Idle(1));
        }
        "speaks-for-the-host" => {
            start(&mut socket);
            notify(&mut socket, &Notice::Crashed("never".to_owned()));
        }
        "gives-back-turns" => {
            start(&mut socket);
            send(&mut socket, &[SMALL, 5, 1, 9]);
        }
        "computes" => {
            start(&mut socket);
            loop {
                std::hint::spin_loop();
            }
        }
        "floods" => {
            start(&mut socket);
            loop {
                notify(&mut socket, &Notice::Exposed);
            }
        }
        "hangs-up" => drop(socket.shutdown(std::net::Shutdown::Both)),
        "ends" => return,
        "deaf" => start(&mut socket),
        // Says nothing.
        _ => {}
    }
    std::thread::sleep(Duration::from_secs(600));
}

fn start(socket: &mut UnixStream) {
    send(socket, &[&[SMALL], &STARTED[..]].concat());
}

fn notify(socket: &mut UnixStream, notice: &Notice) {
    let notice = postcard::to_allocvec(notice).expect("it encodes");
    send(socket, &[&[SMALL, 3], &notice[..]].concat());
}

/// Sends a frame; ends when the host has hung up.
fn send(socket: &mut UnixStream, frame: &[u8]) {
    if socket.write(frame).is_err() {
        std::process::exit(0);
    }
}
