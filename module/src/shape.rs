//! The shapes of parameters and results, and values as Rust would write them.
//!
//! An app's SDK says in the section `sateen.shapes` what its jobs' bytes are (`docs/abi.md`). Both that and the bytes come
//! from strangers: a value is written up to a length, and what does not fit its shape is not shown.

use std::fmt::Write;

/// The section's name. A line for each job: `NAME PARAMETERS -> RESULT`.
pub const SHAPES_SECTION: &str = "sateen.shapes";
/// Shapes within one another.
const DEPTH_MAX: usize = 64;
/// Longer shapes are not read.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// Parts of a value that are looked at: some take no bytes.
const PARTS_MAX: usize = 100_000;

/// How a value is encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// `bool`, `char`, `str`, `bytes`, or a number's type.
    Plain(Plain),
    /// `?X`
    Option(Box<Shape>),
    /// `[X]`
    Seq(Box<Shape>),
    /// `[X;N]`
    Array(Box<Shape>, usize),
    /// `{K:V}`
    Map(Box<Shape>, Box<Shape>),
    /// `(X,Y)`
    Tuple(Vec<Shape>),
    /// `Name!`, `Name(X,Y)` or `Name{field:X}`
    Struct(String, Fields),
    /// `Name<Variant,Variant(X),Variant{field:X}>`
    Enum(String, Vec<(String, Fields)>),
    /// `@N`: the type with a name that is so many such types outside of this.
    Outer(usize),
}

/// What a struct or a variant has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fields {
    /// Nothing.
    Unit,
    /// Parts by position.
    Tuple(Vec<Shape>),
    /// Parts by name.
    Named(Vec<(String, Shape)>),
}

/// What has no parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    /// A byte, 0 or 1.
    Bool,
    /// A string of one letter.
    Char,
    /// UTF-8 behind its length.
    Str,
    /// Bytes behind their number.
    Bytes,
    /// A byte.
    U8,
    /// A byte with a sign.
    I8,
    /// A whole number of so many bits, as a varint.
    Unsigned(u32),
    /// The same with a sign, zigzag.
    Signed(u32),
    /// Four bytes.
    F32,
    /// Eight bytes.
    F64,
}

impl Plain {
    const NAMES: [(&str, Self); 16] = [
        ("bool", Self::Bool),
        ("char", Self::Char),
        ("str", Self::Str),
        ("bytes", Self::Bytes),
        ("u8", Self::U8),
        ("i8", Self::I8),
        ("u16", Self::Unsigned(16)),
        ("u32", Self::Unsigned(32)),
        ("u64", Self::Unsigned(64)),
        ("u128", Self::Unsigned(128)),
        ("i16", Self::Signed(16)),
        ("i32", Self::Signed(32)),
        ("i64", Self::Signed(64)),
        ("i128", Self::Signed(128)),
        ("f32", Self::F32),
        ("f64", Self::F64),
    ];
}

/// The shapes of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobShape {
    /// Of its parameters, a tuple; if they have one.
    pub parameters: Option<Shape>,
    /// Of its result.
    pub result: Option<Shape>,
}

impl JobShape {
    /// Reads what follows the job's name in the section: `PARAMETERS -> RESULT`. `_` stands for one that is not known.
    pub fn parse(text: &str) -> Option<Self> {
        let (parameters, result) = text.split_once(" -> ")?;
        Some(Self { parameters: Shape::parse(parameters), result: Shape::parse(result) })
    }

    /// A call of the job `name` with these encoded parameters, as Rust would write it, if they are what the
    /// shape says; no longer than about `length` bytes.
    pub fn call(&self, name: &str, parameters: &[u8], length: usize) -> Option<String> {
        let shape = self.parameters.as_ref().filter(|shape| matches!(shape, Shape::Tuple(_)))?;
        Some(format!("{name}{}", shape.show(parameters, length)?))
    }

    /// An encoded result, as Rust would write it.
    pub fn result(&self, result: &[u8], length: usize) -> Option<String> {
        self.result.as_ref()?.show(result, length)
    }
}

impl Shape {
    /// Reads a shape's text.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let mut reader = TextReader { rest: text };
        let shape = reader.shape(0, 0)?;
        reader.rest.is_empty().then_some(shape)
    }

    /// The value that `bytes` stand for, as Rust would write it. From about `length` bytes of text on, `…` stands for the
    /// rest. `None` if they are no such value.
    pub fn show(&self, bytes: &[u8], length: usize) -> Option<String> {
        let mut writer =
            ValueWriter { bytes, text: String::new(), length, parts: 0, outer: Vec::new(), is_cut: false };
        writer.value(self, 0)?;
        (writer.is_cut || writer.bytes.is_empty()).then_some(writer.text)
    }
}

struct TextReader<'a> {
    rest: &'a str,
}

impl TextReader<'_> {
    fn eat(&mut self, mark: char) -> bool {
        match self.rest.strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, mark: char) -> Option<()> {
        self.eat(mark).then_some(())
    }

    fn word(&mut self) -> Option<String> {
        let is_letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
        let end = self.rest.find(|letter| !is_letter(letter)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then(|| word.to_owned())
    }

    /// A shape, within so many others, of which so many have names.
    fn shape(&mut self, depth: usize, named: usize) -> Option<Shape> {
        if depth > DEPTH_MAX {
            return None;
        }
        let inner = depth + 1;
        if self.eat('?') {
            return Some(Shape::Option(Box::new(self.shape(inner, named)?)));
        }
        if self.eat('@') {
            let outer = self.word()?.parse().ok().filter(|outer| *outer < named)?;
            return Some(Shape::Outer(outer));
        }
        if self.eat('[') {
            let element = Box::new(self.shape(inner, named)?);
            let length = if self.eat(';') { Some(self.word()?.parse().ok()?) } else { None };
            self.expect(']')?;
            return Some(match length {
                Some(length) => Shape::Array(element, length),
                None => Shape::Seq(element),
            });
        }
        if self.eat('{') {
            let key = Box::new(self.shape(inner, named)?);
            self.expect(':')?;
            let value = Box::new(self.shape(inner, named)?);
            self.expect('}')?;
            return Some(Shape::Map(key, value));
        }
        if self.rest.starts_with('(') {
            return Some(Shape::Tuple(self.tuple(inner, named)?));
        }
        let word = self.word()?;
        if self.eat('!') {
            return Some(Shape::Struct(word, Fields::Unit));
        }
        if self.eat('<') {
            let mut variants = Vec::new();
            while !self.eat('>') {
                if !variants.is_empty() {
                    self.expect(',')?;
                }
                variants.push((self.word()?, self.fields(inner, named + 1)?));
            }
            return Some(Shape::Enum(word, variants));
        }
        match self.fields(inner, named + 1)? {
            Fields::Unit => {
                let plain = Plain::NAMES.iter().find(|(name, _)| *name == word)?;
                Some(Shape::Plain(plain.1))
            }
            fields => Some(Shape::Struct(word, fields)),
        }
    }

    fn tuple(&mut self, depth: usize, named: usize) -> Option<Vec<Shape>> {
        self.expect('(')?;
        let mut parts = Vec::new();
        while !self.eat(')') {
            if !parts.is_empty() {
                self.expect(',')?;
            }
            parts.push(self.shape(depth, named)?);
        }
        Some(parts)
    }

    fn fields(&mut self, depth: usize, named: usize) -> Option<Fields> {
        if self.rest.starts_with('(') {
            return Some(Fields::Tuple(self.tuple(depth, named)?));
        }
        if !self.eat('{') {
            return Some(Fields::Unit);
        }
        let mut parts = Vec::new();
        while !self.eat('}') {
            if !parts.is_empty() {
                self.expect(',')?;
            }
            let name = self.word()?;
            self.expect(':')?;
            parts.push((name, self.shape(depth, named)?));
        }
        Some(Fields::Named(parts))
    }
}

struct ValueWriter<'a> {
    bytes: &'a [u8],
    text: String,
    length: usize,
    parts: usize,
    /// Types with names around what is written, the innermost last.
    outer: Vec<&'a Shape>,
    /// Some of the value is left out.
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

    /// Whether there is room for more. If not, it says so, once.
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

    /// What is written after the value was cut is not wanted.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shows(shape: &str, bytes: &[u8], expected: &str) {
        let shape = Shape::parse(shape).expect("it is a shape");
        assert_eq!(shape.show(bytes, 1000).as_deref(), Some(expected));
    }

    #[test]
    fn values_are_written_as_rust_would() {
        shows("(u64,str,?i8)", &[0x80, 1, 2, b'h', b'i', 1, 0xff], "(128, \"hi\", Some(-1))");
        shows("[i32]", &[3, 0, 1, 2], "[0, -1, 1]");
        shows("{char:()}", &[1, 1, b'x'], "{'x': ()}");
        shows("f64", &1.0_f64.to_le_bytes(), "1.0");
        shows("bytes", &[2, b'a', 0], r#"b"a\x00""#);
        shows(
            "Board{size:u8,rows:[u16;2],next:?@0}",
            &[9, 1, 2, 1, 8, 3, 4, 0],
            "Board { size: 9, rows: [1, 2], next: Some(Board { size: 8, rows: [3, 4], next: None }) }",
        );
        let moves = "[Move<Pass,Place(u8,u8),Castle{long:bool,with:Colour<Black,White>},Far(Meters(u8))>]";
        shows(
            moves,
            &[4, 0, 1, 3, 4, 2, 1, 1, 3, 7],
            "[Pass, Place(3, 4), Castle { long: true, with: White }, Far(Meters(7))]",
        );
        shows(
            "Expression<Sum(@0,@0),Not(@0),Number(i64)>",
            &[0, 2, 2, 1, 2, 4],
            "Sum(Number(1), Not(Number(2)))",
        );
        shows("Nothing!", &[], "Nothing");
        shows("u128", &[0xff; 18].into_iter().chain([3]).collect::<Vec<u8>>(), &u128::MAX.to_string());
        shows("i64", &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], &i64::MIN.to_string());
    }

    #[test]
    fn what_does_not_fit_its_shape_is_not_shown() {
        for (shape, bytes) in [
            ("u8", &[][..]),
            ("u8", &[1, 2]),
            ("bool", &[2]),
            ("?u8", &[2, 1]),
            ("u16", &[0xff, 0xff, 0x7f]),
            ("str", &[1, 0xff]),
            ("str", &[9, b'a']),
            ("char", &[2, b'a', b'b']),
            ("E<A,B>", &[2]),
        ] {
            let shape = Shape::parse(shape).expect("it is a shape");
            assert_eq!(shape.show(bytes, 100), None, "{shape:?} {bytes:?}");
        }
    }

    #[test]
    fn long_values_are_cut_and_endless_ones_end() {
        let cut = |shape: &str, bytes: &[u8]| Shape::parse(shape).expect("it is a shape").show(bytes, 20);
        let long = cut("[u8]", &[&[200, 1][..], &[7; 200]].concat()).expect("it is shown");
        assert!(long.len() < 40 && long.ends_with('…'), "{long}");
        let text: Vec<u8> = [100].into_iter().chain([b'x'; 100]).collect();
        assert!(cut("str", &text).is_some_and(|text| text.len() < 40 && text.ends_with("\"…")));
        // Four billion parts that take no bytes, and a type that contains itself and nothing else.
        assert!(cut("[()]", &[0xff, 0xff, 0xff, 0xff, 0xf]).is_some_and(|text| text.ends_with('…')));
        assert!(cut("[Nothing!]", &[0xff, 0xff, 0xff, 0xff, 0xf]).is_some());
        assert!(Shape::parse("A(@0)").is_some_and(|shape| shape.show(&[], usize::MAX).is_none()));
        assert!(cut("[[();4000000000];4000000000]", &[]).is_some());
    }

    #[test]
    fn texts_that_are_no_shape_are_none() {
        for text in ["", "u7", "(u8", "[u8;x]", "@0", "A{b}", "A{b:@1}", "u8 ", "A<,>", "{u8}", "?"] {
            assert_eq!(Shape::parse(text), None, "{text}");
        }
        assert_eq!(Shape::parse(&"?".repeat(100_000)), None);
        assert_eq!(Shape::parse(&format!("{}u8{}", "[".repeat(1000), "]".repeat(1000))), None);
    }

    #[test]
    fn a_job_is_shown_as_a_call() {
        let shape = JobShape::parse("(Board{size:u8},u32) -> _").expect("it is one");
        assert_eq!(shape.call("count", &[5, 3], 100).as_deref(), Some("count(Board { size: 5 }, 3)"));
        assert_eq!(shape.result(&[5], 100), None);
        assert_eq!(shape.call("count", &[5], 100), None);
        assert_eq!(JobShape::parse("(u8)"), None);
    }
}
