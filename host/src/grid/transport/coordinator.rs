//! Connecting to the coordinator, repeatedly if necessary.

use std::time::Duration;

use sateen_access::{Credentials, client_config, explain_tls};
use sateen_command_line::explained;
use sateen_protocol::Random;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;

use super::NetEvent;
use super::link::{Socket, limits, set_up};
use crate::grid::address::CoordinatorAddress;

/// Maximum time of an attempt.
const ATTEMPT_MAX: Duration = Duration::from_secs(5);
const BACK_OFF_MIN: Duration = Duration::from_millis(200);
/// The longest pause for a host that has nothing to lose.
const BACK_OFF_MAX: Duration = Duration::from_secs(10);
/// The longest pause for a host that the coordinator knew: when the coordinator starts again, it waits
/// `RESTART_GRACE` for its hosts before it gives them up.
const BACK_OFF_KNOWN_MAX: Duration = Duration::from_secs(1);

/// The longest pause for a host that the coordinator refuses: the operator must act first.
const BACK_OFF_REFUSED_MAX: Duration = Duration::from_secs(60);

/// The question if something else answers.
pub const IS_IT_ONE: &str = "is this a coordinator's address?";

/// Why an attempt failed.
#[derive(Debug, PartialEq, Eq)]
enum Failed {
    /// No coordinator answers.
    Unreachable(String),
    /// The coordinator does not take this host.
    Refused(String),
}

/// Connects after a rest, with any number of attempts, and notifies the driver.
pub async fn connect(
    (address, credentials): (CoordinatorAddress, Credentials),
    rest: Duration,
    was_known: bool,
    mut random: Random,
    events: mpsc::Sender<NetEvent>,
) {
    let longest = if was_known { BACK_OFF_KNOWN_MAX } else { BACK_OFF_MAX };
    let mut back_off = BACK_OFF_MIN;
    if !rest.is_zero() {
        sleep(jittered(rest, &mut random)).await;
    }
    loop {
        let (event, longest) = match timeout(ATTEMPT_MAX, attempt(&address, &credentials)).await {
            Ok(Ok(socket)) => (NetEvent::CoordinatorOpened(socket), longest),
            Ok(Err(Failed::Unreachable(why))) => (NetEvent::CoordinatorUnreachable(why), longest),
            Ok(Err(Failed::Refused(why))) => (NetEvent::CoordinatorRefused(why), BACK_OFF_REFUSED_MAX),
            Err(_) => {
                let why = format!("no answer in {} s", ATTEMPT_MAX.as_secs());
                (NetEvent::CoordinatorUnreachable(why), longest)
            }
        };
        let is_open = matches!(event, NetEvent::CoordinatorOpened(_));
        if events.send(event).await.is_err() || is_open {
            return;
        }
        back_off = back_off.min(longest);
        sleep(jittered(back_off, &mut random)).await;
        back_off = (back_off * 2).min(longest);
    }
}

async fn attempt(address: &CoordinatorAddress, credentials: &Credentials) -> Result<Socket, Failed> {
    let io = |error: std::io::Error| {
        Failed::Unreachable(explain_tls(&error, address.host()).unwrap_or_else(|| explained(&error)))
    };
    let stream = TcpStream::connect(address.authority()).await.map_err(io)?;
    let mut stream = set_up(stream).map_err(io)?;
    if address.is_tls() {
        let config = client_config(credentials.authority.as_ref());
        let config = config.map_err(|error| Failed::Unreachable(error.to_string()))?;
        stream = stream.encrypt(address.host(), config).await.map_err(io)?;
    }
    let request = address.websocket().into_client_request();
    let mut request = request.map_err(|error| Failed::Unreachable(error.to_string()))?;
    if let Some(header) = credentials.header() {
        request.headers_mut().insert(AUTHORIZATION, header);
    }
    match client_async_with_config(request, stream, Some(limits())).await {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Io(error)) => Err(io(error)),
        Err(error) => Err(why(error)),
    }
}

fn why(error: Error) -> Failed {
    let Error::Http(response) = error else {
        return Failed::Unreachable(format!("what it answers is not HTTP ({error}); {IS_IT_ONE}"));
    };
    let (status, body) = (response.status(), response.body().as_deref().unwrap_or_default());
    let problem = serde_json::from_slice::<serde_json::Value>(body).ok();
    let detail = problem.as_ref().and_then(|problem| problem["detail"].as_str()).map(str::to_owned);
    match (status.as_u16(), detail) {
        (401 | 403 | 429, detail) => {
            Failed::Refused(detail.unwrap_or_else(|| format!("it answered {status} to this host's token")))
        }
        (_, Some(detail)) => Failed::Unreachable(detail),
        (_, None) => {
            Failed::Unreachable(format!("it answered {status} instead of opening a websocket; {IS_IT_ONE}"))
        }
    }
}

/// A random time between half and all of it, so that hosts that lost their coordinator together do not come
/// back together.
fn jittered(time: Duration, random: &mut Random) -> Duration {
    let half_us = usize::try_from(time.as_micros() / 2).unwrap_or(usize::MAX).max(1);
    time / 2 + Duration::from_micros(random.below(half_us) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_reported_in_the_coordinators_words() {
        let answer = |status: u16, body: &[u8]| {
            let response = tokio_tungstenite::tungstenite::http::Response::builder().status(status);
            why(Error::Http(Box::new(response.body(Some(body.to_vec())).expect("a response"))))
        };
        let problem = br#"{"detail":"the token `pc` was revoked","status":401}"#;
        assert_eq!(answer(401, problem), Failed::Refused("the token `pc` was revoked".to_owned()));
        assert!(matches!(answer(403, b""), Failed::Refused(why) if why.contains("403")));
        assert!(
            matches!(answer(404, b"<html>"), Failed::Unreachable(why) if why.contains("a coordinator's address"))
        );
    }

    #[test]
    fn pauses_differ_and_are_bounded() {
        let mut random = Random::new(3);
        let pauses: Vec<Duration> = (0..100).map(|_| jittered(BACK_OFF_MAX, &mut random)).collect();
        assert!(pauses.iter().all(|pause| *pause >= BACK_OFF_MAX / 2 && *pause <= BACK_OFF_MAX));
        assert!(pauses.iter().any(|pause| *pause < BACK_OFF_MAX * 6 / 10));
        assert!(pauses.iter().any(|pause| *pause > BACK_OFF_MAX * 9 / 10));
    }
}
