//! The shapes of parameters and results: how their encoded bytes are read without the app's types.
//!
//! A type is asked to decode itself from a decoder that has no bytes, gives examples, and takes down what it was asked
//! for. An example has one variant of each enum, so types are asked again until each variant was had. Types that contain
//! themselves are given the shortest example where they are come upon again.
//!
//! The text that comes of it is told in `docs/abi.md`. A type that decodes in a way of its own, and refuses
//! the examples, has no shape.

use std::any::type_name;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::U32Deserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

/// A shape that is longer is of no use to anybody.
const TEXT_BYTES_MAX: usize = 4096;
/// Types within one another.
const OPEN_MAX: usize = 48;
/// Tuples and arrays with more parts have no shape.
const PARTS_MAX: usize = 1024;
/// Parts of all examples together.
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

/// What was asked for.
#[derive(Clone, PartialEq)]
enum Node {
    Unknown,
    Plain(&'static str),
    Option(Box<Node>),
    Seq(Box<Node>),
    Map(Box<(Node, Node)>),
    Tuple(Vec<Node>),
    /// A type with a name, by its visitor's.
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
    /// Something within has variants that are not known.
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
    /// Of these, those that are within themselves.
    again: usize,
    /// So many times one was come upon within itself.
    agains: usize,
    is_incomplete: bool,
    steps: u32,
}

/// The type refuses the examples, or has no end.
#[derive(Debug)]
struct NoShape;

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

    /// Begins a type. True if it is within itself.
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

    /// Writes `node`; `None` if that cannot be. `open` are the types around it.
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

/// The name, if it is none of the marks between names.
fn checked(name: &'static str) -> Option<&'static str> {
    let is_fine = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    (!name.is_empty() && name.chars().all(is_fine)).then_some(name)
}

/// Gives an example, and takes down in `node` of what.
struct Tracer<'t> {
    world: &'t RefCell<World>,
    node: &'t mut Node,
}

macro_rules! plain {
    ($($method:ident $visit:ident $name:literal $example:expr;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NoShape> {
            *self.node = Node::Plain($name);
            self.world.borrow_mut().step()?;
            visitor.$visit($example)
        })*
    };
}

impl<'de> Deserializer<'de> for Tracer<'_> {
    type Error = NoShape;

    // One, for there are types that may not be zero.
    plain! {
        deserialize_bool visit_bool "bool" false;
        deserialize_i8 visit_i8 "i8" 1;
        deserialize_i16 visit_i16 "i16" 1;
        deserialize_i32 visit_i32 "i32" 1;
        deserialize_i64 visit_i64 "i64" 1;
        deserialize_i128 visit_i128 "i128" 1;
        deserialize_u8 visit_u8 "u8" 1;
        deserialize_u16 visit_u16 "u16" 1;
        deserialize_u32 visit_u32 "u32" 1;
        deserialize_u64 visit_u64 "u64" 1;
        deserialize_u128 visit_u128 "u128" 1;
        deserialize_f32 visit_f32 "f32" 1.0;
        deserialize_f64 visit_f64 "f64" 1.0;
        deserialize_char visit_char "char" 'a';
        deserialize_str visit_str "str" "a";
        deserialize_string visit_str "str" "a";
        deserialize_bytes visit_bytes "bytes" &[1];
        deserialize_byte_buf visit_bytes "bytes" &[1];
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoShape> {
        Err(NoShape)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoShape> {
        Err(NoShape)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoShape> {
        Err(NoShape)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NoShape> {
        *self.node = Node::Tuple(Vec::new());
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NoShape> {
        let mut inner = Node::Unknown;
        let value = if self.world.borrow().again > 0 {
            visitor.visit_none()
        } else {
            visitor.visit_some(Tracer { world: self.world, node: &mut inner })
        };
        *self.node = Node::Option(Box::new(inner));
        value
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NoShape> {
        let mut inner = vec![Node::Unknown; usize::from(self.world.borrow().again == 0)];
        let value = visitor.visit_seq(Parts { world: self.world, nodes: inner.iter_mut() });
        *self.node = Node::Seq(Box::new(inner.pop().unwrap_or(Node::Unknown)));
        value
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NoShape> {
        let mut inner = vec![Node::Unknown; 2 * usize::from(self.world.borrow().again == 0)];
        let value = visitor.visit_map(Parts { world: self.world, nodes: inner.iter_mut() });
        let (second, first) = (inner.pop(), inner.pop());
        let pair = (first.unwrap_or(Node::Unknown), second.unwrap_or(Node::Unknown));
        *self.node = Node::Map(Box::new(pair));
        value
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, NoShape> {
        let (nodes, value) = parts(self.world, length, visitor);
        *self.node = Node::Tuple(nodes);
        value
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, NoShape> {
        self.structure::<V>(name, |_| (Fields::Unit, visitor.visit_unit()))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, NoShape> {
        self.structure::<V>(name, |world| {
            let mut node = Node::Unknown;
            let value = visitor.visit_newtype_struct(Tracer { world, node: &mut node });
            (Fields::Tuple(vec![node]), value)
        })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, NoShape> {
        self.structure::<V>(name, |world| {
            let (nodes, value) = parts(world, length, visitor);
            (Fields::Tuple(nodes), value)
        })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NoShape> {
        self.structure::<V>(name, |world| {
            let (nodes, value) = parts(world, fields.len(), visitor);
            (Fields::Named(fields.iter().copied().zip(nodes).collect()), value)
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NoShape> {
        let key = type_name::<V>();
        *self.node = Node::Named(key);
        let mut world = self.world.borrow_mut();
        let is_again = world.enter(key)?;
        let turn = world.again;
        let known = (world.named.entry(key))
            .or_insert_with(|| Named::Enum(name, variants.iter().map(|_| None).collect()));
        let Named::Enum(_, known) = known else { return Err(NoShape) };
        let missing =
            known.iter().position(|variant| variant.as_ref().is_none_or(|known| known.is_incomplete));
        let short = known.iter().position(|variant| variant.as_ref().is_some_and(|known| known.is_short));
        let at = match missing {
            Some(at) if turn == 0 => at,
            // Another one at each level, until one does not contain the type.
            _ => short.unwrap_or(turn % variants.len().max(1)),
        };
        let outer = std::mem::replace(&mut world.is_incomplete, false);
        let agains = world.agains;
        drop(world);
        let mut fields = Fields::Unit;
        let index = u32::try_from(at).map_err(|_| NoShape)?;
        let value = visitor.visit_enum(Example { world: self.world, index, fields: &mut fields });
        let mut world = self.world.borrow_mut();
        world.leave();
        let is_incomplete = std::mem::replace(&mut world.is_incomplete, outer);
        let is_short = world.agains == agains;
        let mut is_any_missing = false;
        if let Some(Named::Enum(_, known)) = world.named.get_mut(key)
            && turn == 0
            && !is_again
            && let Some(name) = variants.get(at)
        {
            known[at] = Some(Variant { name, fields, is_incomplete, is_short });
            is_any_missing =
                known.iter().any(|variant| variant.as_ref().is_none_or(|known| known.is_incomplete));
        }
        world.is_incomplete |= is_any_missing;
        value
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

impl<'t> Tracer<'t> {
    /// A type with a name and fields, which `fields` decodes.
    fn structure<'de, V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: impl FnOnce(&'t RefCell<World>) -> (Fields, Result<V::Value, NoShape>),
    ) -> Result<V::Value, NoShape> {
        let key = type_name::<V>();
        *self.node = Node::Named(key);
        let is_again = self.world.borrow_mut().enter(key)?;
        let (fields, value) = fields(self.world);
        let mut world = self.world.borrow_mut();
        let is_whole = world.again == 0;
        world.leave();
        if !is_again && is_whole {
            world.named.insert(key, Named::Struct(name, fields));
        }
        value
    }
}

/// So many parts, one after the other, and the type that is made of them.
fn parts<'de, V: Visitor<'de>>(
    world: &RefCell<World>,
    length: usize,
    visitor: V,
) -> (Vec<Node>, Result<V::Value, NoShape>) {
    if length > PARTS_MAX {
        return (Vec::new(), Err(NoShape));
    }
    let mut nodes = vec![Node::Unknown; length];
    let value = visitor.visit_seq(Parts { world, nodes: nodes.iter_mut() });
    (nodes, value)
}

/// The parts of a sequence, a tuple or a map.
struct Parts<'t> {
    world: &'t RefCell<World>,
    nodes: std::slice::IterMut<'t, Node>,
}

impl<'de> SeqAccess<'de> for Parts<'_> {
    type Error = NoShape;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, NoShape> {
        let next = self.nodes.next();
        next.map(|node| seed.deserialize(Tracer { world: self.world, node })).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.nodes.len())
    }
}

impl<'de> MapAccess<'de> for Parts<'_> {
    type Error = NoShape;

    fn next_key_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, NoShape> {
        self.next_element_seed(seed)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, NoShape> {
        self.next_element_seed(seed)?.ok_or(NoShape)
    }
}

/// One variant of an enum.
struct Example<'t> {
    world: &'t RefCell<World>,
    index: u32,
    fields: &'t mut Fields,
}

impl<'de> EnumAccess<'de> for Example<'_> {
    type Error = NoShape;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), NoShape> {
        let index: U32Deserializer<NoShape> = self.index.into_deserializer();
        Ok((seed.deserialize(index)?, self))
    }
}

impl<'de> VariantAccess<'de> for Example<'_> {
    type Error = NoShape;

    fn unit_variant(self) -> Result<(), NoShape> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, NoShape> {
        let mut node = Node::Unknown;
        let value = seed.deserialize(Tracer { world: self.world, node: &mut node });
        *self.fields = Fields::Tuple(vec![node]);
        value
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, NoShape> {
        let (nodes, value) = parts(self.world, length, visitor);
        *self.fields = Fields::Tuple(nodes);
        value
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NoShape> {
        let (nodes, value) = parts(self.world, fields.len(), visitor);
        *self.fields = Fields::Named(fields.iter().copied().zip(nodes).collect());
        value
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::num::NonZeroU32;

    use serde::{Deserialize, Serialize};

    use super::of;

    #[derive(Serialize, Deserialize)]
    struct Board {
        size: u8,
        rows: [u32; 4],
        next: Option<Box<Board>>,
    }

    #[derive(Serialize, Deserialize)]
    struct Meters(f64);

    #[derive(Serialize, Deserialize)]
    struct Nothing;

    #[derive(Serialize, Deserialize)]
    struct Wrapper<T> {
        inner: T,
    }

    #[derive(Serialize, Deserialize)]
    enum Move {
        Pass,
        Place(u8, u8),
        Castle { long: bool, with: Colour },
        Far(Meters),
    }

    #[derive(Serialize, Deserialize)]
    enum Colour {
        Black,
        White,
    }

    #[derive(Serialize, Deserialize)]
    enum Expression {
        Sum(Box<Expression>, Box<Expression>),
        Not(Box<Expression>),
        Number(i64),
    }

    #[derive(Serialize, Deserialize)]
    struct Family {
        name: String,
        children: Vec<Family>,
        by_name: BTreeMap<String, Family>,
    }

    #[test]
    fn plain_types_and_their_combinations_have_a_shape() {
        assert_eq!(of::<(u64, String, Option<i8>)>().as_deref(), Some("(u64,str,?i8)"));
        assert_eq!(of::<(NonZeroU32,)>().as_deref(), Some("(u32)"));
        assert_eq!(of::<Vec<BTreeMap<char, ()>>>().as_deref(), Some("[{char:()}]"));
        assert_eq!(of::<[u16; 5]>().as_deref(), Some("[u16;5]"));
        assert_eq!(of::<Result<Meters, String>>().as_deref(), Some("Result<Ok(Meters(f64)),Err(str)>"));
    }

    #[test]
    fn structs_and_enums_have_their_names() {
        assert_eq!(of::<Nothing>().as_deref(), Some("Nothing!"));
        assert_eq!(
            of::<Vec<Move>>().as_deref(),
            Some("[Move<Pass,Place(u8,u8),Castle{long:bool,with:Colour<Black,White>},Far(Meters(f64))>]")
        );
        let wrapped = "Wrapper{inner:Wrapper{inner:u8}}";
        assert_eq!(of::<Wrapper<Wrapper<u8>>>().as_deref(), Some(wrapped), "two types of one name");
    }

    #[test]
    fn types_that_contain_themselves_end() {
        assert_eq!(of::<Board>().as_deref(), Some("Board{size:u8,rows:[u32;4],next:?@0}"));
        assert_eq!(of::<Expression>().as_deref(), Some("Expression<Sum(@0,@0),Not(@0),Number(i64)>"));
        assert_eq!(of::<Family>().as_deref(), Some("Family{name:str,children:[@0],by_name:{str:@0}}"));
        let both = "Wrapper{inner:Board{size:u8,rows:[u32;4],next:?@0}}";
        assert_eq!(of::<Wrapper<Board>>().as_deref(), Some(both));
    }

    #[test]
    fn what_refuses_examples_or_has_no_end_has_no_shape() {
        #[derive(Deserialize)]
        #[serde(try_from = "u8")]
        #[allow(dead_code)]
        struct Even(u8);
        impl TryFrom<u8> for Even {
            type Error = String;
            fn try_from(value: u8) -> Result<Self, String> {
                if value.is_multiple_of(2) { Ok(Self(value)) } else { Err("odd".to_owned()) }
            }
        }
        assert_eq!(of::<Even>(), None);
        #[derive(Deserialize)]
        struct Endless(#[allow(dead_code)] Box<Endless>);
        assert_eq!(of::<Endless>(), None);
        #[derive(Deserialize)]
        struct Spaced(
            #[serde(rename = "a,b")]
            #[allow(dead_code)]
            u8,
        );
        assert_eq!(of::<Spaced>().as_deref(), Some("Spaced(u8)"));
        #[derive(Deserialize)]
        struct Marked {
            #[serde(rename = "a,b")]
            #[allow(dead_code)]
            field: u8,
        }
        assert_eq!(of::<Marked>(), None);
    }
}
