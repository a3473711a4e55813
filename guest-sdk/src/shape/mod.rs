//! The shapes of parameters and results: how their encoded bytes are read without the app's types.
//!
//! A type decodes itself from a decoder that has no bytes: it returns examples, and records which types are requested.
//! An example has one variant of each enum, so this is repeated until each variant was used. When a type contains
//! itself, the inner one gets the shortest example.
//!
//! `docs/abi.md` describes the resulting text. A type with its own decoding that refuses the examples has no
//! shape.

mod tracer;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;

use tracer::Tracer;

/// Maximum bytes of a shape: a longer one is useless.
const TEXT_BYTES_MAX: usize = 4096;
/// Maximum depth of types within one another.
const OPEN_MAX: usize = 48;
/// Maximum parts of all examples together.
const STEPS_MAX: u32 = 200_000;

/// The shape of `T`, if it has one.
pub fn of<T: DeserializeOwned>() -> Option<String> {
    let world = RefCell::new(World::default());
    loop {
        let mut node = Node::Unknown;
        world.borrow_mut().is_incomplete = false;
        T::deserialize(Tracer { world: &world, node: &mut node }).ok()?;
        if !world.borrow().is_incomplete {
            let mut text = String::new();
            world.borrow().write(&node, &mut Vec::new(), &mut text)?;
            return Some(text);
        }
    }
}

/// A requested type.
#[derive(Clone, PartialEq)]
enum Node {
    Unknown,
    Plain(&'static str),
    Option(Box<Node>),
    Seq(Box<Node>),
    Map(Box<(Node, Node)>),
    Tuple(Vec<Node>),
    /// A type with a name, which comes from its visitor.
    Named(&'static str),
}

#[derive(Clone, PartialEq)]
enum Fields {
    Unit,
    Tuple(Vec<Node>),
    Named(Vec<(&'static str, Node)>),
}

struct Variant {
    name: &'static str,
    fields: Fields,
    /// A part has variants that are not known.
    is_incomplete: bool,
    /// Its example does not contain the type itself.
    is_short: bool,
}

enum Named {
    Struct(&'static str, Fields),
    Enum(&'static str, Vec<Option<Variant>>),
}

#[derive(Default)]
struct World {
    named: BTreeMap<&'static str, Named>,
    /// Types that are being decoded, the innermost last.
    open: Vec<&'static str>,
    /// Of these, the types that contain themselves.
    again: usize,
    /// How often a type was found within itself.
    agains: usize,
    is_incomplete: bool,
    steps: u32,
}

/// The type refuses the examples, or has no end.
#[derive(Debug)]
pub struct NoShape;

impl fmt::Display for NoShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it has no shape")
    }
}

impl std::error::Error for NoShape {}

impl serde::de::Error for NoShape {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl World {
    fn step(&mut self) -> Result<(), NoShape> {
        self.steps += 1;
        if self.steps < STEPS_MAX { Ok(()) } else { Err(NoShape) }
    }

    /// Begins a type. Returns true if it is within itself.
    fn enter(&mut self, key: &'static str) -> Result<bool, NoShape> {
        self.step()?;
        if self.open.len() >= OPEN_MAX {
            return Err(NoShape);
        }
        let is_again = self.open.contains(&key);
        self.open.push(key);
        if is_again || self.again > 0 {
            self.again += 1;
            self.agains += usize::from(is_again);
        }
        Ok(is_again)
    }

    fn leave(&mut self) {
        self.open.pop();
        self.again = self.again.saturating_sub(1);
    }

    /// Writes `node`; `None` if that is impossible. `open` are the types around it.
    fn write(&self, node: &Node, open: &mut Vec<&'static str>, text: &mut String) -> Option<()> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        match node {
            Node::Unknown => return None,
            Node::Plain(name) => text.push_str(name),
            Node::Option(inner) => {
                text.push('?');
                self.write(inner, open, text)?;
            }
            Node::Seq(inner) => {
                text.push('[');
                self.write(inner, open, text)?;
                text.push(']');
            }
            Node::Map(pair) => {
                text.push('{');
                self.write(&pair.0, open, text)?;
                text.push(':');
                self.write(&pair.1, open, text)?;
                text.push('}');
            }
            Node::Tuple(parts) => match parts.as_slice() {
                [first, rest @ ..] if rest.len() >= 2 && rest.iter().all(|part| part == first) => {
                    text.push('[');
                    self.write(first, open, text)?;
                    text.push_str(&format!(";{}]", parts.len()));
                }
                _ => self.write_tuple(parts, open, text)?,
            },
            Node::Named(key) => {
                if let Some(at) = open.iter().rev().position(|known| known == key) {
                    text.push_str(&format!("@{at}"));
                    return Some(());
                }
                open.push(key);
                match self.named.get(key)? {
                    Named::Struct(name, fields) => {
                        text.push_str(checked(name)?);
                        if *fields == Fields::Unit {
                            text.push('!');
                        }
                        self.write_fields(fields, open, text)?;
                    }
                    Named::Enum(name, variants) => {
                        text.push_str(checked(name)?);
                        text.push('<');
                        for (at, variant) in variants.iter().enumerate() {
                            let variant = variant.as_ref()?;
                            text.push_str(if at > 0 { "," } else { "" });
                            text.push_str(checked(variant.name)?);
                            self.write_fields(&variant.fields, open, text)?;
                        }
                        text.push('>');
                    }
                }
                open.pop();
            }
        }
        Some(())
    }

    fn write_tuple(&self, parts: &[Node], open: &mut Vec<&'static str>, text: &mut String) -> Option<()> {
        text.push('(');
        for (at, part) in parts.iter().enumerate() {
            text.push_str(if at > 0 { "," } else { "" });
            self.write(part, open, text)?;
        }
        text.push(')');
        Some(())
    }

    fn write_fields(&self, fields: &Fields, open: &mut Vec<&'static str>, text: &mut String) -> Option<()> {
        match fields {
            Fields::Unit => {}
            Fields::Tuple(parts) => self.write_tuple(parts, open, text)?,
            Fields::Named(parts) => {
                text.push('{');
                for (at, (name, part)) in parts.iter().enumerate() {
                    text.push_str(if at > 0 { "," } else { "" });
                    text.push_str(checked(name)?);
                    text.push(':');
                    self.write(part, open, text)?;
                }
                text.push('}');
            }
        }
        Some(())
    }
}

/// The name, if it has none of the separators between names.
fn checked(name: &'static str) -> Option<&'static str> {
    let is_fine = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    (!name.is_empty() && name.chars().all(is_fine)).then_some(name)
}

#[cfg(test)]
mod tests;
