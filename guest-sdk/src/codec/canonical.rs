//! The serializer: postcard's format, in one form for equal values.
//!
//! There are two differences from plain postcard. First, the entries of hash sets, and of all maps whose order
//! is not known to be meaningful, are written in the order of their encoded keys, because their own order
//! differs between sandboxes. So equal values have equal bytes, and jobs have equal keys. Second, values that
//! could not be decoded are refused here, by name.

use std::fmt::Display;

use serde::ser::{self, Serialize, Serializer};

use super::buffer::Buffer;
use super::error::{EncodeError, Name, Refusal};
use super::order::{Order, Unordered, order_of_elements, order_of_entries};

/// Appends `value` to `out`.
pub fn write<V: Serialize + ?Sized>(value: &V, out: &mut Buffer) -> Result<(), EncodeError> {
    value.serialize(Canonical { out, type_name: std::any::type_name::<V> })
}

/// Writes one value.
pub struct Canonical<'a> {
    out: &'a mut Buffer,
    /// The name of the value's type. It is used only for maps and sequences.
    type_name: fn() -> &'static str,
}

impl<'a> Canonical<'a> {
    #[inline]
    fn plain<V: Serialize + ?Sized>(self, value: &V) -> Result<(), EncodeError> {
        plain(self.out, value)
    }

    #[inline]
    fn compound(self, container: &'static str) -> Compound<'a> {
        Compound { out: self.out, container, index: 0, unordered: None }
    }

    #[inline]
    fn elements(
        self,
        len: Option<usize>,
        order: fn(&Buffer, &str) -> Order,
    ) -> Result<Compound<'a>, EncodeError> {
        let len = len.ok_or_else(|| EncodeError::from(Refusal::UnknownLength))?;
        plain(self.out, &len)?;
        let order = order(self.out, (self.type_name)());
        let unordered = Unordered::new(order, self.out);
        Ok(Compound { unordered, ..self.compound("") })
    }
}

/// Writes values without parts as postcard does.
#[inline]
fn plain<V: Serialize + ?Sized>(out: &mut Buffer, value: &V) -> Result<(), EncodeError> {
    Ok(value.serialize(&mut postcard::Serializer { output: out })?)
}

/// Writes the parts of a value.
pub struct Compound<'a> {
    out: &'a mut Buffer,
    /// The struct's or variant's name.
    container: &'static str,
    index: usize,
    unordered: Option<Unordered>,
}

impl Compound<'_> {
    #[inline]
    fn part<V: Serialize + ?Sized>(&mut self, name: Name, value: &V) -> Result<(), EncodeError> {
        write(value, self.out).map_err(|error| error.within(name, std::any::type_name::<V>()))
    }

    #[inline]
    fn element<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), EncodeError> {
        let index = self.index;
        self.index += 1;
        self.part(Name::Index(index), value)
    }

    fn skipped(&self, field: &'static str) -> EncodeError {
        Refusal::Skipped { container: self.container, field }.into()
    }

    #[inline]
    fn finish(self) -> Result<(), EncodeError> {
        if let Some(unordered) = self.unordered {
            unordered.sort(self.out);
        }
        Ok(())
    }
}

macro_rules! plain {
    ($($method:ident: $type:ty),*) => {
        $(#[inline]
        fn $method(self, value: $type) -> Result<(), EncodeError> {
            self.plain(&value)
        })*
    };
}

impl<'a> Serializer for Canonical<'a> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = Compound<'a>;
    type SerializeTuple = Compound<'a>;
    type SerializeTupleStruct = Compound<'a>;
    type SerializeTupleVariant = Compound<'a>;
    type SerializeMap = Compound<'a>;
    type SerializeStruct = Compound<'a>;
    type SerializeStructVariant = Compound<'a>;

    plain!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_u128: u128, serialize_f32: f32, serialize_f64: f64, serialize_char: char, serialize_str: &str
    );

    #[inline]
    fn is_human_readable(&self) -> bool {
        false
    }

    #[inline]
    fn serialize_bytes(self, value: &[u8]) -> Result<(), EncodeError> {
        let mut serializer = postcard::Serializer { output: &mut *self.out };
        Ok(serializer.serialize_bytes(value)?)
    }

    #[inline]
    fn serialize_none(self) -> Result<(), EncodeError> {
        self.plain(&0_u8)
    }

    #[inline]
    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<(), EncodeError> {
        plain(self.out, &1_u8)?;
        write(value, self.out)
    }

    #[inline]
    fn serialize_unit(self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
    ) -> Result<(), EncodeError> {
        self.plain(&index)
    }

    #[inline]
    fn serialize_newtype_struct<V: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &V,
    ) -> Result<(), EncodeError> {
        write(value, self.out)
    }

    #[inline]
    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
        value: &V,
    ) -> Result<(), EncodeError> {
        plain(self.out, &index)?;
        write(value, self.out)
    }

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Compound<'a>, EncodeError> {
        self.elements(len, order_of_elements)
    }

    #[inline]
    fn serialize_tuple(self, _len: usize) -> Result<Compound<'a>, EncodeError> {
        Ok(self.compound(""))
    }

    #[inline]
    fn serialize_tuple_struct(self, name: &'static str, _len: usize) -> Result<Compound<'a>, EncodeError> {
        Ok(self.compound(name))
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, EncodeError> {
        plain(self.out, &index)?;
        Ok(self.compound(variant))
    }

    #[inline]
    fn serialize_map(self, len: Option<usize>) -> Result<Compound<'a>, EncodeError> {
        self.elements(len, order_of_entries)
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Compound<'a>, EncodeError> {
        Ok(self.compound(name))
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, EncodeError> {
        plain(self.out, &index)?;
        Ok(self.compound(variant))
    }

    fn collect_str<V: Display + ?Sized>(self, value: &V) -> Result<(), EncodeError> {
        self.plain(value.to_string().as_str())
    }
}

impl ser::SerializeSeq for Compound<'_> {
    type Ok = ();
    type Error = EncodeError;

    #[inline]
    fn serialize_element<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), EncodeError> {
        self.element(value)?;
        if let Some(unordered) = &mut self.unordered {
            unordered.element_ends(self.out);
        }
        Ok(())
    }

    #[inline]
    fn end(self) -> Result<(), EncodeError> {
        self.finish()
    }
}

impl ser::SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = EncodeError;

    #[inline]
    fn serialize_key<V: Serialize + ?Sized>(&mut self, key: &V) -> Result<(), EncodeError> {
        self.element(key)?;
        if let Some(unordered) = &mut self.unordered {
            unordered.key_ends(self.out);
        }
        Ok(())
    }

    #[inline]
    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), EncodeError> {
        let entry = Name::Index(self.index.saturating_sub(1));
        write(value, self.out).map_err(|error| error.within(entry, std::any::type_name::<V>()))?;
        if let Some(unordered) = &mut self.unordered {
            unordered.value_ends(self.out);
        }
        Ok(())
    }

    #[inline]
    fn end(self) -> Result<(), EncodeError> {
        self.finish()
    }
}

macro_rules! positions {
    ($($of:ident: $method:ident),*) => {
        $(impl ser::$of for Compound<'_> {
            type Ok = ();
            type Error = EncodeError;

            #[inline]
            fn $method<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), EncodeError> {
                self.element(value)
            }

            #[inline]
            fn end(self) -> Result<(), EncodeError> {
                self.finish()
            }
        })*
    };
}

positions!(
    SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
);

macro_rules! fields {
    ($($of:ident),*) => {
        $(impl ser::$of for Compound<'_> {
            type Ok = ();
            type Error = EncodeError;

            #[inline]
            fn serialize_field<V: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &V,
            ) -> Result<(), EncodeError> {
                self.part(Name::Field(name), value)
            }

            fn skip_field(&mut self, name: &'static str) -> Result<(), EncodeError> {
                Err(self.skipped(name))
            }

            #[inline]
            fn end(self) -> Result<(), EncodeError> {
                self.finish()
            }
        })*
    };
}

fields!(SerializeStruct, SerializeStructVariant);
