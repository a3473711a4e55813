//! Reads the text of a shape, which is untrusted.

use super::{DEPTH_MAX, Fields, Plain, Shape};

/// Maximum length of a shape's text.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// Parses `text` as a shape.
pub fn read(text: &str) -> Option<Shape> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let mut reader = TextReader { rest: text };
    let shape = reader.shape(0, 0)?;
    reader.rest.is_empty().then_some(shape)
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

    /// Reads a shape inside `depth` others, `named` of which have names.
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
