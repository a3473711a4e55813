//! Connecting to the coordinator, repeatedly if necessary.

use std::time::Duration;

use sateen_command_line::explained;
use sateen_protocol::Random;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::Error;

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

/// Connects after a rest, with any number of attempts, and notifies the driver.
pub async fn connect(
    address: CoordinatorAddress,
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
        let event = match timeout(ATTEMPT_MAX, attempt(&address)).await {
            Ok(Ok(socket)) => NetEvent::CoordinatorOpened(socket),
            Ok(Err(error)) => NetEvent::CoordinatorUnreachable(why(&error)),
            Err(_) => NetEvent::CoordinatorUnreachable(format!("no answer in {} s", ATTEMPT_MAX.as_secs())),
        };
        let is_open = matches!(event, NetEvent::CoordinatorOpened(_));
        if events.send(event).await.is_err() || is_open {
            return;
        }
        sleep(jittered(back_off, &mut random)).await;
        back_off = (back_off * 2).min(longest);
    }
}

async fn attempt(address: &CoordinatorAddress) -> Result<Socket, Error> {
    let stream = TcpStream::connect(address.authority()).await?;
    let stream = set_up(stream)?;
    let (socket, _) = client_async_with_config(address.websocket(), stream, Some(limits())).await?;
    Ok(socket)
}

fn why(error: &Error) -> String {
    match error {
        Error::Http(response) => {
            format!(
                "it answered {} instead of opening a websocket; is this a coordinator's address?",
                response.status()
            )
        }
        Error::Io(error) => explained(error),
        error => error.to_string(),
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
    fn pauses_differ_and_are_bounded() {
        let mut random = Random::new(3);
        let pauses: Vec<Duration> = (0..100).map(|_| jittered(BACK_OFF_MAX, &mut random)).collect();
        assert!(pauses.iter().all(|pause| *pause >= BACK_OFF_MAX / 2 && *pause <= BACK_OFF_MAX));
        assert!(pauses.iter().any(|pause| *pause < BACK_OFF_MAX * 6 / 10));
        assert!(pauses.iter().any(|pause| *pause > BACK_OFF_MAX * 9 / 10));
    }
}
