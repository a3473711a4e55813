//! The terminal: completely redrawn each time, and restored at the end.

use std::io::{self, Read, Write, stdin, stdout};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::termios::{self, OptionalActions, Termios};
use sateen_command_line::explained;

use super::row::{Row, Tone};
use crate::exit::Failure;

/// Maximum time until the view reacts to a key or to new data.
const TURN: Duration = Duration::from_millis(50);
/// The size of a terminal that does not report it.
const SIZE: (usize, usize) = (80, 24);

const CTRL_C: u8 = 3;
const ESCAPE: u8 = 27;

// Codes that terminals have understood since the VT100, except the synchronized update, which other
// terminals ignore.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";
const CLEAR_REST_OF_LINE: &str = "\x1b[K";
const CLEAR_REST: &str = "\x1b[J";
const PLAIN: &str = "\x1b[0m";

/// A request of the user.
pub enum Key {
    /// Close the view.
    Quit,
    /// Close the view, with Ctrl-C.
    Interrupt,
    /// The terminal has another size.
    Redraw,
}

/// The terminal, while it shows the view.
pub struct Screen {
    /// The terminal's earlier settings, if keys can be read.
    before: Option<Termios>,
    keys: Receiver<u8>,
    is_coloured: bool,
    size: (usize, usize),
}

impl Screen {
    /// # Errors
    /// If the terminal cannot show a view.
    pub fn open() -> Result<Self, Failure> {
        // If stdin is not a terminal, a signal ends the view.
        let before = termios::tcgetattr(stdin()).ok();
        if let Some(before) = &before {
            let mut raw = before.clone();
            raw.make_raw();
            // Newlines of our own output still work.
            raw.output_modes = before.output_modes;
            termios::tcsetattr(stdin(), OptionalActions::Flush, &raw)
                .map_err(|error| failed(error.into()))?;
        }
        let (sender, keys) = mpsc::channel();
        if before.is_some() {
            thread::spawn(move || {
                let mut key = [0];
                while stdin().read(&mut key).is_ok_and(|count| count == 1) && sender.send(key[0]).is_ok() {}
            });
        }
        let is_coloured = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let screen = Self { before, keys, is_coloured, size: size() };
        write(ENTER).map_err(failed)?;
        Ok(screen)
    }

    /// Columns and lines.
    pub fn size(&self) -> (usize, usize) {
        self.size
    }

    /// Shows as many of the rows as fit.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn draw(&mut self, rows: &[Row]) -> Result<(), Failure> {
        let (width, height) = self.size;
        let mut text = String::from(BEGIN);
        for (line, row) in rows.iter().take(height).enumerate() {
            text.push_str(&format!("\x1b[{};1H", line + 1));
            for (tone, piece) in row.clone().cut(width).pieces {
                text.push_str(self.style(tone));
                text.push_str(&piece);
                text.push_str(PLAIN);
            }
            text.push_str(CLEAR_REST_OF_LINE);
        }
        if rows.len() < height {
            text.push_str(&format!("\x1b[{};1H{CLEAR_REST}", rows.len() + 1));
        }
        text.push_str(END);
        write(&text).map_err(failed)
    }

    fn style(&self, tone: Tone) -> &'static str {
        match tone {
            Tone::Plain => "",
            Tone::Dim => "\x1b[2m",
            Tone::Strong => "\x1b[1m",
            Tone::Good if self.is_coloured => "\x1b[32m",
            Tone::Warn if self.is_coloured => "\x1b[33m",
            Tone::Bad if self.is_coloured => "\x1b[31m",
            Tone::Good | Tone::Warn => "",
            Tone::Bad => "\x1b[1m",
        }
    }

    /// The user's request, after waiting for it a little.
    pub fn key(&mut self) -> Option<Key> {
        let now = size();
        if now != self.size {
            self.size = now;
            return Some(Key::Redraw);
        }
        match self.keys.recv_timeout(TURN) {
            Ok(CTRL_C) => Some(Key::Interrupt),
            Ok(b'q' | b'Q') => Some(Key::Quit),
            // A single escape; the codes of other keys, which have no meaning here, begin with one
            // as well.
            Ok(ESCAPE) => match self.keys.recv_timeout(TURN) {
                Err(_) => Some(Key::Quit),
                Ok(_) => {
                    while self.keys.try_recv().is_ok() {}
                    None
                }
            },
            Ok(_) | Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                thread::sleep(TURN);
                None
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = write(LEAVE);
        if let Some(before) = &self.before {
            let _ = termios::tcsetattr(stdin(), OptionalActions::Flush, before);
        }
    }
}

fn size() -> (usize, usize) {
    match termios::tcgetwinsize(stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => SIZE,
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn failed(error: io::Error) -> Failure {
    Failure::usage(format!(
        "this terminal cannot show the view ({}); `sateen watch … | cat` writes lines",
        explained(&error)
    ))
}
