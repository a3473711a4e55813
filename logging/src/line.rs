//! An event as a line of text.

use std::fmt::{self, Debug, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::text::{visible, write_value};

/// `TIME LEVEL message field=value …`.
pub struct Line {
    pub is_coloured: bool,
}

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        SystemTime.format_time(&mut writer)?;
        let level = event.metadata().level();
        if self.is_coloured {
            let colour = match *level {
                Level::ERROR => 31,
                Level::WARN => 33,
                Level::INFO => 32,
                _ => 34,
            };
            write!(writer, " \x1b[{colour}m{level:>5}\x1b[0m")?;
        } else {
            write!(writer, " {level:>5}")?;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        if !fields.message.is_empty() {
            write!(writer, " {}", visible(&fields.message))?;
        }
        writeln!(writer, "{}", fields.others)
    }
}

/// The fields of an event.
#[derive(Default)]
struct Fields {
    message: String,
    others: String,
}

impl Fields {
    fn add(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.message);
            return;
        }
        // A string takes all that is written to it.
        let _ = write!(self.others, " {}=", field.name());
        let _ = write_value(&mut self.others, value);
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, &format!("{value:?}"));
    }
}
