//! A limit on lines of one kind, so that nobody can fill a log from outside.
//!
//! Lines are of one kind if one place in the source writes them. Events caused by others (hosts that join, reports
//! of misbehaviour, apps that are published) are logged as long as there are few of them. For the rest, the log
//! reports only their number.

use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Maximum lines of one kind in each [`PERIOD`].
const LINES_MAX: u32 = 120;
/// Time after which counting of a kind starts again.
const PERIOD: Duration = Duration::from_secs(60);
/// Time between two checks whether to report lines that were left out.
const LOOK: Duration = Duration::from_secs(5);

/// For each kind, the lines written lately and those left out.
#[derive(Debug, Clone, Default)]
pub struct Kinds(Arc<Mutex<HashMap<Identifier, Kind>>>);

#[derive(Debug)]
struct Kind {
    since: Instant,
    lines: u32,
    left_out: u64,
    message: String,
}

impl Kinds {
    fn all(&self) -> MutexGuard<'_, HashMap<Identifier, Kind>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one more line is written.
    fn admit(&self, event: &Event<'_>, now: Instant) -> bool {
        let metadata = event.metadata();
        // A user who enables this level wants all lines.
        if *metadata.level() > Level::INFO {
            return true;
        }
        let mut all = self.all();
        let kind = all.entry(metadata.callsite()).or_insert_with(|| Kind {
            since: now,
            lines: 0,
            left_out: 0,
            message: String::new(),
        });
        if now.duration_since(kind.since) >= PERIOD {
            (kind.since, kind.lines) = (now, 0);
        }
        if kind.lines < LINES_MAX {
            kind.lines += 1;
            return true;
        }
        if kind.left_out == 0 {
            let mut message = Message::default();
            event.record(&mut message);
            kind.message = message.0;
        }
        kind.left_out += 1;
        false
    }

    /// Lines left out and not yet reported: a message of the kind, and the number of lines.
    fn take_left_out(&self) -> Vec<(String, u64)> {
        let mut all = self.all();
        let kinds = all.values_mut().filter(|kind| kind.left_out > 0);
        kinds.map(|kind| (kind.message.clone(), std::mem::take(&mut kind.left_out))).collect()
    }

    /// Reports lines that were left out.
    pub fn report(&self) {
        for (like, lines) in self.take_left_out() {
            tracing::warn!(lines, like, "more lines of one kind are not shown");
        }
    }

    /// Starts reporting, on a thread of its own.
    pub fn report_for_ever(self) {
        let looks = move || {
            loop {
                std::thread::sleep(LOOK);
                self.report();
            }
        };
        // Without the thread, lines that are left out are not reported.
        let _ = std::thread::Builder::new().name("sateen-log".to_owned()).spawn(looks);
    }
}

#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

/// A format that does not write any kind of line too often.
pub struct Limited<F> {
    /// The format.
    pub format: F,
    /// The lines written of each kind.
    pub kinds: Kinds,
}

impl<S, N, F> FormatEvent<S, N> for Limited<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'w> FormatFields<'w> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        // A call that writes nothing is not a line.
        if !self.kinds.admit(event, Instant::now()) {
            return Ok(());
        }
        self.format.format_event(context, writer, event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Line;
    use crate::sink::Sink;

    fn written(events: impl FnOnce(&Kinds)) -> String {
        let (sink, kinds) = (Sink::default(), Kinds::default());
        let writer = sink.clone();
        let format = Limited { format: Line { is_coloured: false }, kinds: kinds.clone() };
        let base = tracing_subscriber::fmt().with_max_level(Level::TRACE);
        let subscriber = base.with_writer(move || writer.clone()).event_format(format).finish();
        tracing::subscriber::with_default(subscriber, || events(&kinds));
        sink.text()
    }

    #[test]
    fn lines_of_one_kind_are_bounded_and_the_rest_is_counted() {
        let text = written(|kinds| {
            for number in 0..1000 {
                tracing::warn!(number, "a host accuses another");
            }
            tracing::warn!("something else");
            kinds.report();
            kinds.report();
        });
        let accusations = text.lines().filter(|line| line.contains("a host accuses another number="));
        assert_eq!(accusations.count(), LINES_MAX as usize);
        assert!(text.contains("something else"), "{text}");
        let said: Vec<&str> = text.lines().filter(|line| line.contains("are not shown")).collect();
        let [said] = said[..] else { panic!("{said:?}") };
        assert!(said.contains("lines=880 like=\"a host accuses another\""), "{said}");
        assert_eq!(text.lines().count(), LINES_MAX as usize + 2);
    }

    #[test]
    fn debug_lines_are_shown_in_full() {
        let text = written(|_| (0..1000).for_each(|_| tracing::debug!("detail")));
        assert_eq!(text.lines().count(), 1000);
    }

    #[test]
    fn after_a_while_lines_are_counted_again() {
        let text = written(|kinds| {
            let say = |time: usize| (0..time).for_each(|_| tracing::info!("joined"));
            say(1000);
            for kind in kinds.all().values_mut() {
                kind.since -= PERIOD;
            }
            say(1000);
        });
        assert_eq!(text.lines().count(), 2 * LINES_MAX as usize);
    }
}
