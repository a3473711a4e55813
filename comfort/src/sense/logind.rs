//! What systemd's logind knows of sessions: desktops report to it that their user is idle, and it knows the terminals' times.
//! It reports changes by signals, so that a desktop's user who comes back is noticed at once, under Wayland too.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::StreamExt;
use tokio::time::timeout;
use zbus::{Connection, MatchRule, Message, MessageStream, OwnedObjectPath, OwnedVariant};

use super::{Reporter, spawn};

/// The name of this source.
const NAME: &str = "logind";
const DESTINATION: &str = "org.freedesktop.login1";
const MANAGER: &str = "/org/freedesktop/login1";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
/// Maximum time of a call.
const CALL_MAX: Duration = Duration::from_secs(5);
/// Intervals of calls when no signal comes, while guests compute and otherwise: a terminal's times come without signals.
const CALLS: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));
/// The wait after a failure.
const CONNECTS: Duration = Duration::from_secs(60);
/// Maximum sessions that are looked at.
const SESSIONS_MAX: usize = 64;
/// Signals come one by one; if many do, the next call returns the same.
const SIGNALS_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(7);

/// Begins to look, if there is a system bus.
pub fn start(reporter: &Reporter) {
    let own = reporter.clone();
    spawn("sateen-logind", reporter, move || {
        let tokio = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(tokio) => tokio,
            Err(error) => {
                return own.missing(format!("logind cannot be asked when users are there: {error}"));
            }
        };
        while !own.pace().is_over() {
            if let Err(why) = tokio.block_on(follow(&own)) {
                own.idle(NAME, None);
                own.missing(format!("logind cannot be asked when users are there: {why}"));
            }
            if !own.pace().wait(CONNECTS, CONNECTS) {
                return;
            }
        }
    });
}

/// Reports until the end, or until a call fails.
async fn follow(reporter: &Reporter) -> Result<(), String> {
    let failed = |error: zbus::Error| error.to_string();
    let late = |_| format!("no answer within {} s", CALL_MAX.as_secs());
    let bus = timeout(CALL_MAX, Connection::system()).await.map_err(late)?.map_err(failed)?;
    let rule = MatchRule::builder()
        .msg_type(zbus::message::Type::Signal)
        .sender(DESTINATION)
        .interface(PROPERTIES)
        .member("PropertiesChanged")
        .path_namespace(MANAGER)
        .build()
        .map_err(failed)?;
    let signals = MessageStream::for_match_rule(rule, &bus, Some(SIGNALS_MAX));
    let mut signals = timeout(CALL_MAX, signals).await.map_err(late)?.map_err(failed)?;
    while !reporter.pace().is_over() {
        let sessions = timeout(CALL_MAX, sessions(&bus)).await.map_err(late)?.map_err(failed)?;
        let now_us = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        let now_us = u64::try_from(now_us).unwrap_or(u64::MAX);
        reporter.idle(NAME, sessions.iter().filter_map(|session| session.idle(now_us)).min());
        let every = if reporter.pace().is_fast() { CALLS.0 } else { CALLS.1 };
        // A time without signals is not a failure.
        if let Ok(None) = timeout(every, signals.next()).await {
            return Err("the system bus has closed the connection".to_owned());
        }
    }
    Ok(())
}

async fn sessions(bus: &Connection) -> zbus::Result<Vec<Session>> {
    let answer = call(bus, MANAGER, "org.freedesktop.login1.Manager", "ListSessions", &()).await?;
    let listed: Vec<(String, u32, String, String, OwnedObjectPath)> = answer.body().deserialize()?;
    let mut sessions = Vec::new();
    for (.., path) in listed.into_iter().take(SESSIONS_MAX) {
        let answer = call(bus, path.as_str(), PROPERTIES, "GetAll", &"org.freedesktop.login1.Session").await;
        // It may have ended since.
        let Ok(answer) = answer else { continue };
        let properties: HashMap<String, OwnedVariant> = answer.body().deserialize()?;
        sessions.push(Session::of(&properties));
    }
    Ok(sessions)
}

async fn call<B>(
    bus: &Connection,
    path: &str,
    interface: &str,
    method: &str,
    body: &B,
) -> zbus::Result<Message>
where
    B: serde::Serialize + zbus::DynamicType,
{
    bus.call_method(Some(DESTINATION), path, Some(interface), method, body).await
}

/// A user's session, as logind describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Session {
    /// `user`, `greeter`, `manager` and so on.
    pub class: String,
    /// `x11`, `wayland`, `tty`, `unspecified` and so on.
    pub kind: String,
    /// Whether it is on the screen of its seat.
    pub is_active: bool,
    /// Whether its screen is locked.
    pub is_locked: bool,
    /// Whether it is said to be idle.
    pub is_idle: bool,
    /// Since when, in microseconds since 1970; 0 if that has never changed. For terminals, the time of the last input.
    pub since_us: u64,
}

impl Session {
    fn of(properties: &HashMap<String, OwnedVariant>) -> Self {
        let text = |name: &str| {
            let text = properties.get(name).and_then(|value| <&str>::try_from(value).ok());
            text.unwrap_or_default().to_owned()
        };
        let is = |name: &str| properties.get(name).is_some_and(|value| bool::try_from(value) == Ok(true));
        Self {
            class: text("Class"),
            kind: text("Type"),
            is_active: is("Active"),
            is_locked: is("LockedHint"),
            is_idle: is("IdleHint"),
            since_us: properties
                .get("IdleSinceHint")
                .and_then(|value| u64::try_from(value).ok())
                .unwrap_or(0),
        }
    }

    /// Time since the last input of its user; `None` if logind does not know.
    ///
    /// The server of a session under X is asked itself. A desktop that has never said anything counts as used: it cannot
    /// be distinguished from one whose user has been busy since it began.
    pub fn idle(&self, now_us: u64) -> Option<Duration> {
        let since = (self.since_us > 0).then(|| Duration::from_micros(now_us.saturating_sub(self.since_us)));
        match (self.class.as_str(), self.kind.as_str()) {
            ("user" | "user-early" | "user-light", "tty") => since,
            ("user" | "user-early" | "user-light", "wayland" | "mir") => match self.is_idle {
                true => since,
                false => (self.is_active && !self.is_locked).then_some(Duration::ZERO),
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_US: u64 = 1_800_000_000_000_000;

    fn session(class: &str, kind: &str, since_s: u64) -> Session {
        let (class, kind) = (class.to_owned(), kind.to_owned());
        Session { class, kind, is_active: true, since_us: NOW_US - since_s * 1_000_000, ..Session::default() }
    }

    #[test]
    fn sessions_have_different_clocks() {
        let idle = |session: &Session| session.idle(NOW_US).map(|idle| idle.as_secs());
        // On a terminal, the time is that of the last input, whatever the hint is.
        assert_eq!(idle(&session("user", "tty", 40)), Some(40));
        assert_eq!(idle(&Session { since_us: 0, ..session("user", "tty", 0) }), None);
        // On a desktop, it is that of the last change of the hint.
        let desktop = session("user", "wayland", 400);
        assert_eq!(idle(&desktop), Some(0));
        assert_eq!(idle(&Session { is_idle: true, ..desktop.clone() }), Some(400));
        assert_eq!(idle(&Session { is_locked: true, ..desktop.clone() }), None);
        assert_eq!(idle(&Session { is_active: false, ..desktop.clone() }), None);
        assert_eq!(idle(&Session { since_us: 0, ..desktop }), Some(0));
        // The X server knows better; nobody sits at a greeter, a service or a job of cron.
        for (class, kind) in
            [("user", "x11"), ("greeter", "wayland"), ("manager", "unspecified"), ("user", "unspecified")]
        {
            assert_eq!(idle(&session(class, kind, 4)), None, "{class} {kind}");
        }
    }

    #[test]
    fn properties_are_read_and_may_be_missing() {
        let properties = [
            ("Class", OwnedVariant::try_from(zbus::Variant::from("user"))),
            ("Type", OwnedVariant::try_from(zbus::Variant::from("wayland"))),
            ("Active", OwnedVariant::try_from(zbus::Variant::from(true))),
            ("IdleHint", OwnedVariant::try_from(zbus::Variant::from(true))),
            ("IdleSinceHint", OwnedVariant::try_from(zbus::Variant::from(NOW_US - 5_000_000))),
        ];
        let properties = properties.map(|(name, value)| (name.to_owned(), value.expect("a value")));
        let mut properties = HashMap::from(properties);
        let read = Session::of(&properties);
        assert_eq!(read, Session { is_idle: true, ..session("user", "wayland", 5) });
        properties.clear();
        assert_eq!(Session::of(&properties), Session::default());
    }
}
