//! Links over real sockets, with a driver that lags.

use std::net::SocketAddr;

use axum::Extension;
use axum::extract::{State, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::get;
use futures_util::SinkExt;
use sateen_protocol::codec::{Decoder, Encoder, PROTOCOL_VERSION, encode};
use sateen_protocol::message::HostReport;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::*;
use crate::server::{Gates, Kind, Serving};

const PEERS: usize = 50;
/// The maximum that a link may send per second.
const FRAMES: usize = 4;
const MESSAGES: usize = 4096;

#[derive(Clone)]
struct Bed {
    links: Arc<Links>,
    gates: Arc<Gates>,
    driver: mpsc::UnboundedSender<FromLink>,
}

async fn open(
    State(bed): State<Bed>,
    Extension(connection): Extension<Arc<Connection>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let link = bed.gates.take(connection.peer, Kind::Link, 1).expect("room");
    let doors = Doors { _link: link, unknown: None, connection, access: Access::Everyone };
    upgrade.on_upgrade(move |socket| serve(socket, doors, bed.links, bed.driver))
}

async fn join(to: SocketAddr, number: usize) -> WebSocketStream<TcpStream> {
    let stream = TcpStream::connect(to).await.expect("it listens");
    let url = format!("ws://{to}/ws/host");
    let (mut socket, _) = tokio_tungstenite::client_async(url, stream).await.expect("a websocket");
    let key = sateen_identity::Identity::generate().expect("randomness");
    let report = HostReport {
        name: number.to_string(),
        site: String::new(),
        threads: 1,
        version: String::new(),
        direct: None,
        key: key.public(),
    };
    let hello = ToCoordinator::Hello { report, was: None, incarnation: 0, roots: Vec::new(), paused: None };
    let Some(Ok(Message::Binary(frame))) = socket.next().await else { panic!("a challenge") };
    let challenge = Decoder::default().decode::<ToHost>(&frame).expect("a frame").remove(0);
    let ToHost::Challenge(challenge) = challenge else { panic!("{challenge:?} is not a challenge") };
    let proof = ToCoordinator::Proof(key.prove(&challenge, &hello, 1, Vec::new()));
    let mut encoder = Encoder::default();
    [hello, proof].iter().for_each(|message| encoder.push(message).expect("short"));
    socket.send(Message::binary(encoder.finish().concat())).await.expect("an open link");
    socket
}

/// A frame of as many two-byte messages as possible takes a hundred times as much memory when it is decoded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_messages_that_wait_for_the_driver_take_bounded_memory() {
    let (driver, mut from_links) = mpsc::unbounded_channel();
    let links = Arc::new(Links::new(Arc::default(), Clock::start(), 1000, Arc::default()));
    let bed = Bed { links, gates: Arc::default(), driver };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let to = listener.local_addr().expect("bound");
    let router = axum::Router::new().route("/ws/host", get(open)).with_state(bed.clone());
    let (_stop, stopping) = watch::channel(false);
    let serving = Serving { router, tls: None, gates: Arc::clone(&bed.gates), proxies: Arc::default() };
    tokio::spawn(crate::server::serve(listener, serving, stopping));

    let small = encode(&ToCoordinator::Ready { run: sateen_protocol::RunId(1) }).expect("short").concat();
    let frame = [&[PROTOCOL_VERSION, 0], small[2..].repeat(MESSAGES).as_slice()].concat();
    let mut sockets = Vec::new();
    for number in 0..PEERS {
        let mut socket = join(to, number).await;
        for _ in 0..FRAMES {
            socket.send(Message::binary(frame.clone())).await.expect("an open link");
        }
        sockets.push(socket);
    }
    // Nothing more is read as long as the driver does nothing.
    let (mut before, mut waiting) = (usize::MAX, 0);
    while before != waiting {
        before = waiting;
        tokio::time::sleep(Duration::from_millis(300)).await;
        waiting = from_links.len();
    }
    // Then reading continues, and nothing was lost.
    let (mut bytes, mut count) = (0, 0);
    for place in 0.. {
        let news = timeout(Duration::from_secs(30), from_links.recv()).await.expect("nobody waits in vain");
        let Some(FromLink::Messages { messages, permit, .. }) = news else {
            panic!("a link was closed: {news:?}")
        };
        count += messages.len();
        if place < waiting {
            bytes += messages.capacity() * size_of::<ToCoordinator>();
        }
        drop(permit);
        if count == PEERS * (1 + FRAMES * MESSAGES) {
            break;
        }
    }
    assert!(bytes <= INBOX_BYTES_MAX, "{waiting} frames with {} MiB waited", bytes >> 20);
    assert_eq!(bed.links.inbox.available_permits(), INBOX_BYTES_MAX);
}
