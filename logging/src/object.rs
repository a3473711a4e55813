//! An event as a JSON object on a line.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::text::escaped;

/// Invisible characters that JSON allows are escaped.
pub struct Object(pub Format<Json>);

impl<S, N> FormatEvent<S, N> for Object
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut object = String::new();
        self.0.format_event(context, Writer::new(&mut object), event)?;
        writer.write_str(&escaped(&object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::Sink;

    #[test]
    fn an_object_shows_what_would_turn_its_text() {
        let sink = Sink::default();
        let writer = sink.clone();
        let base = tracing_subscriber::fmt().with_writer(move || writer.clone());
        let subscriber = base.json().flatten_event(true).map_event_format(Object).finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(name = "a\u{202e}b\u{9b}\n\u{7f}ü", "said \u{2066}");
        });
        let text = sink.text();
        assert!(text.contains(r#""name":"a\u202eb\u009b\n\u007fü""#), "{text}");
        assert!(text.contains(r#""message":"said \u2066""#), "{text}");
        assert_eq!((text.lines().count(), text.ends_with('\n')), (1, true));
    }
}
