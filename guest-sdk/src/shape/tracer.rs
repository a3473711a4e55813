//! A decoder that returns examples, and records which types are requested.

use std::any::type_name;
use std::cell::RefCell;

use serde::de::value::U32Deserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::{Fields, Named, NoShape, Node, Variant, World};

/// Tuples and arrays with more parts have no shape.
const PARTS_MAX: usize = 1024;

/// Returns an example, and records its type in `node`.
pub struct Tracer<'t> {
    pub world: &'t RefCell<World>,
    pub node: &'t mut Node,
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

    // One, because some types may not be zero.
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
            // Tries another variant at each level, until one does not contain the type.
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

/// This many parts, one after the other, and the type that consists of them.
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
