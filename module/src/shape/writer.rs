//! Writes encoded values in Rust's notation, by their shapes. The bytes are untrusted.

use std::fmt::Write;

use super::{DEPTH_MAX, Fields, Plain, Shape};

/// Maximum parts of a value that are visited: some take no bytes.
const PARTS_MAX: usize = 100_000;

/// See [`Shape::show`].
pub fn write(shape: &Shape, bytes: &[u8], length: usize) -> Option<String> {
    let mut writer =
        ValueWriter { bytes, text: String::new(), length, parts: 0, outer: Vec::new(), is_cut: false };
    writer.value(shape, 0)?;
    (writer.is_cut || writer.bytes.is_empty()).then_some(writer.text)
}

struct ValueWriter<'a> {
    bytes: &'a [u8],
    text: String,
    length: usize,
    parts: usize,
    /// Named types around the current place, the innermost last.
    outer: Vec<&'a Shape>,
    /// Whether some of the value is left out.
    is_cut: bool,
}

impl<'a> ValueWriter<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn varint(&mut self, bits: u32) -> Option<u128> {
        let mut value = 0_u128;
        for shift in (0..bits).step_by(7) {
            let byte = self.byte()?;
            let part = u128::from(byte & 0x7f);
            if bits - shift < 7 && part >> (bits - shift) != 0 {
                return None;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.varint(32)?).ok()
    }

    /// Whether there is room for more text. If not, it appends `…`, once.
    fn has_room(&mut self) -> bool {
        self.parts += 1;
        if !self.is_cut && (self.text.len() > self.length || self.parts > PARTS_MAX) {
            self.text.push('…');
            self.is_cut = true;
        }
        !self.is_cut
    }

    fn value(&mut self, shape: &'a Shape, depth: usize) -> Option<()> {
        if depth > 4 * DEPTH_MAX {
            return None;
        }
        if !self.has_room() {
            return Some(());
        }
        match shape {
            Shape::Plain(plain) => self.plain(*plain),
            Shape::Option(inner) => match self.byte()? {
                0 => self.push("None"),
                1 => {
                    self.push("Some(");
                    self.value(inner, depth + 1)?;
                    self.push(")")
                }
                _ => None,
            },
            Shape::Seq(element) => {
                let count = self.count()?;
                self.list("[", std::iter::repeat_n(&**element, count), "]", depth)
            }
            Shape::Array(element, count) => {
                self.list("[", std::iter::repeat_n(&**element, *count), "]", depth)
            }
            Shape::Map(key, value) => {
                let count = self.count()?;
                self.push("{");
                for at in 0..count {
                    self.push(if at > 0 { ", " } else { "" });
                    self.value(key, depth + 1)?;
                    self.push(": ");
                    self.value(value, depth + 1)?;
                    if self.is_cut {
                        break;
                    }
                }
                self.push("}")
            }
            Shape::Tuple(parts) => self.list("(", parts.iter(), ")", depth),
            Shape::Struct(name, fields) => {
                self.push(name);
                self.outer.push(shape);
                self.fields(fields, depth)?;
                self.outer.pop();
                Some(())
            }
            Shape::Enum(_, variants) => {
                let at = self.count()?;
                let (name, fields) = variants.get(at)?;
                self.push(name);
                self.outer.push(shape);
                self.fields(fields, depth)?;
                self.outer.pop();
                Some(())
            }
            Shape::Outer(levels) => {
                let kept = self.outer.len().checked_sub(levels + 1)?;
                let shape = self.outer[kept];
                let inner = self.outer.split_off(kept);
                self.value(shape, depth + 1)?;
                self.outer.truncate(kept);
                self.outer.extend(inner);
                Some(())
            }
        }
    }

    /// Appends `text`, unless the value was cut already.
    fn push(&mut self, text: &str) -> Option<()> {
        if !self.is_cut {
            self.text.push_str(text);
        }
        Some(())
    }

    fn list(
        &mut self,
        open: &str,
        shapes: impl Iterator<Item = &'a Shape>,
        close: &str,
        depth: usize,
    ) -> Option<()> {
        self.push(open);
        for (at, shape) in shapes.enumerate() {
            self.push(if at > 0 { ", " } else { "" });
            self.value(shape, depth + 1)?;
            if self.is_cut {
                break;
            }
        }
        self.push(close)
    }

    fn fields(&mut self, fields: &'a Fields, depth: usize) -> Option<()> {
        match fields {
            Fields::Unit => Some(()),
            Fields::Tuple(parts) => self.list("(", parts.iter(), ")", depth),
            Fields::Named(parts) => {
                self.push(" { ");
                for (at, (name, part)) in parts.iter().enumerate() {
                    self.push(if at > 0 { ", " } else { "" });
                    self.push(name);
                    self.push(": ");
                    self.value(part, depth + 1)?;
                    if self.is_cut {
                        break;
                    }
                }
                self.push(" }")
            }
        }
    }

    fn plain(&mut self, plain: Plain) -> Option<()> {
        match plain {
            Plain::Bool => match self.byte()? {
                0 => self.push("false"),
                1 => self.push("true"),
                _ => None,
            },
            Plain::U8 => {
                let byte = self.byte()?;
                self.show(byte)
            }
            Plain::I8 => {
                let byte = self.byte()?;
                self.show(byte.cast_signed())
            }
            Plain::Unsigned(bits) => {
                let value = self.varint(bits)?;
                self.show(value)
            }
            Plain::Signed(bits) => {
                let value = self.varint(bits)?;
                // Zigzag: the sign is the lowest bit.
                self.show((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
            }
            Plain::F32 => {
                let bytes = self.take(4)?.first_chunk()?;
                self.show(format_args!("{:?}", f32::from_le_bytes(*bytes)))
            }
            Plain::F64 => {
                let bytes = self.take(8)?.first_chunk()?;
                self.show(format_args!("{:?}", f64::from_le_bytes(*bytes)))
            }
            Plain::Str | Plain::Char => {
                let count = self.count()?;
                let text = std::str::from_utf8(self.take(count)?).ok()?;
                if plain == Plain::Char {
                    let mut letters = text.chars();
                    let letter = letters.next().filter(|_| letters.next().is_none())?;
                    return self.show(format_args!("{letter:?}"));
                }
                let room = self.length.saturating_sub(self.text.len());
                let shown: String = text.chars().take(room.max(1)).collect();
                if shown.len() < text.len() {
                    self.show(format_args!("{shown:?}"));
                    self.text.push('…');
                    self.is_cut = true;
                    return Some(());
                }
                self.show(format_args!("{shown:?}"))
            }
            Plain::Bytes => {
                let count = self.count()?;
                let bytes = self.take(count)?;
                let room = self.length.saturating_sub(self.text.len());
                let shown = &bytes[..bytes.len().min(room)];
                let letters = shown.escape_ascii().to_string();
                self.show(format_args!("b\"{letters}\""));
                if shown.len() < bytes.len() {
                    self.text.push('…');
                    self.is_cut = true;
                }
                Some(())
            }
        }
    }

    fn show(&mut self, value: impl std::fmt::Display) -> Option<()> {
        write!(self.text, "{value}").ok()
    }
}
