//! The serializer: postcard's format, in one form for equal values.
//!
//! Two things differ from postcard alone. The entries of hash maps and sets are written in the order of
//! their encoded keys, since their own order differs between sandboxes: equal values have equal bytes,
//! and so equal job keys. And what could not be read back is refused here, by name.

use std::fmt::Display;

use serde::ser::{self, Serialize, Serializer};

use super::buffer::Buffer;
use super::error::EncodeError;
use super::trace::{Name, Trace};

/// Writes `value` after what `out` has.
pub fn write<V: Serialize + ?Sized, T: Trace>(
    value: &V,
    out: &mut Buffer,
    trace: &mut T,
) -> Result<(), EncodeError> {
    value.serialize(Canonical { out, trace, type_name: std::any::type_name::<V> })
}

/// Writes one value.
pub struct Canonical<'a, T> {
    out: &'a mut Buffer,
    trace: &'a mut T,
    /// Of the value. Asked only where it matters: for maps and sequences.
    type_name: fn() -> &'static str,
}

impl<'a, T: Trace> Canonical<'a, T> {
    #[inline]
    fn plain<V: Serialize + ?Sized>(self, value: &V) -> Result<(), EncodeError> {
        plain(self.out, value)
    }

    #[inline]
    fn compound(self, container: &'static str) -> Compound<'a, T> {
        Compound { out: self.out, trace: self.trace, container, index: 0, unordered: None }
    }

    #[inline]
    fn elements(self, len: Option<usize>) -> Result<Compound<'a, T>, EncodeError> {
        let len = len.ok_or(EncodeError::UnknownLength)?;
        plain(self.out, &len)?;
        let begin = self.out.0.len();
        let unordered = is_unordered((self.type_name)()).then(|| Unordered { begin, entries: Vec::new() });
        Ok(Compound { unordered, ..self.compound("") })
    }
}

/// Writes what contains no other values as postcard does.
#[inline]
fn plain<V: Serialize + ?Sized>(out: &mut Buffer, value: &V) -> Result<(), EncodeError> {
    let result = value.serialize(&mut postcard::Serializer { output: out });
    result.map_err(|error| EncodeError::Custom(error.to_string()))
}

/// Whether a type's iteration order has no meaning: hash maps and sets, also behind pointers.
fn is_unordered(mut type_name: &str) -> bool {
    const POINTERS: [&str; 6] =
        ["&", "mut ", "alloc::boxed::Box<", "alloc::rc::Rc<", "alloc::sync::Arc<", "core::cell::RefCell<"];
    while let Some(rest) = POINTERS.iter().find_map(|pointer| type_name.strip_prefix(pointer)) {
        type_name = rest;
    }
    let path = type_name.split('<').next().unwrap_or_default();
    ["::HashMap", "::HashSet", "::DashMap", "::DashSet"].iter().any(|name| path.ends_with(name))
}

/// Entries that are put in order when all are written.
struct Unordered {
    begin: usize,
    /// Where each entry's key ends, and the entry.
    entries: Vec<(usize, usize)>,
}

impl Unordered {
    fn sort(self, out: &mut Buffer) {
        let written = out.0.split_off(self.begin);
        let mut begin = 0;
        let mut entries: Vec<(&[u8], &[u8])> = Vec::with_capacity(self.entries.len());
        for (key_end, end) in self.entries {
            let (key_end, end) = (key_end - self.begin, end - self.begin);
            entries.push((&written[begin..key_end], &written[begin..end]));
            begin = end;
        }
        entries.sort_unstable();
        entries.iter().for_each(|(_, entry)| out.0.extend_from_slice(entry));
    }
}

/// Writes the parts of a value.
pub struct Compound<'a, T> {
    out: &'a mut Buffer,
    trace: &'a mut T,
    /// The struct's or variant's name.
    container: &'static str,
    index: usize,
    unordered: Option<Unordered>,
}

impl<T: Trace> Compound<'_, T> {
    #[inline]
    fn part<V: Serialize + ?Sized>(&mut self, name: Name, value: &V) -> Result<(), EncodeError> {
        self.trace.enter(name, self.out.0.len());
        write(value, self.out, self.trace)?;
        self.trace.leave();
        Ok(())
    }

    #[inline]
    fn element<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), EncodeError> {
        let index = self.index;
        self.index += 1;
        self.part(Name::Index(index), value)
    }

    fn skipped(&self, field: &'static str) -> EncodeError {
        EncodeError::Skipped { container: self.container, field }
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

impl<'a, T: Trace> Serializer for Canonical<'a, T> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = Compound<'a, T>;
    type SerializeTuple = Compound<'a, T>;
    type SerializeTupleStruct = Compound<'a, T>;
    type SerializeTupleVariant = Compound<'a, T>;
    type SerializeMap = Compound<'a, T>;
    type SerializeStruct = Compound<'a, T>;
    type SerializeStructVariant = Compound<'a, T>;

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
        serializer.serialize_bytes(value).map_err(|error| EncodeError::Custom(error.to_string()))
    }

    #[inline]
    fn serialize_none(self) -> Result<(), EncodeError> {
        self.plain(&0_u8)
    }

    #[inline]
    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<(), EncodeError> {
        plain(self.out, &1_u8)?;
        write(value, self.out, self.trace)
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
        write(value, self.out, self.trace)
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
        write(value, self.out, self.trace)
    }

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Compound<'a, T>, EncodeError> {
        self.elements(len)
    }

    #[inline]
    fn serialize_tuple(self, _len: usize) -> Result<Compound<'a, T>, EncodeError> {
        Ok(self.compound(""))
    }

    #[inline]
    fn serialize_tuple_struct(self, name: &'static str, _len: usize) -> Result<Compound<'a, T>, EncodeError> {
        Ok(self.compound(name))
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a, T>, EncodeError> {
        plain(self.out, &index)?;
        Ok(self.compound(variant))
    }

    #[inline]
    fn serialize_map(self, len: Option<usize>) -> Result<Compound<'a, T>, EncodeError> {
        self.elements(len)
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Compound<'a, T>, EncodeError> {
        Ok(self.compound(name))
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a, T>, EncodeError> {
        plain(self.out, &index)?;
        Ok(self.compound(variant))
    }

    fn collect_str<V: Display + ?Sized>(self, value: &V) -> Result<(), EncodeError> {
        self.plain(value.to_string().as_str())
    }
}

impl<T: Trace> ser::SerializeSeq for Compound<'_, T> {
    type Ok = ();
    type Error = EncodeError;

    #[inline]
    fn serialize_element<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), EncodeError> {
        self.element(value)?;
        if let Some(unordered) = &mut self.unordered {
            let end = self.out.0.len();
            unordered.entries.push((end, end));
        }
        Ok(())
    }

    #[inline]
    fn end(self) -> Result<(), EncodeError> {
        self.finish()
    }
}

impl<T: Trace> ser::SerializeMap for Compound<'_, T> {
    type Ok = ();
    type Error = EncodeError;

    #[inline]
    fn serialize_key<V: Serialize + ?Sized>(&mut self, key: &V) -> Result<(), EncodeError> {
        self.element(key)?;
        if let Some(unordered) = &mut self.unordered {
            unordered.entries.push((self.out.0.len(), 0));
        }
        Ok(())
    }

    #[inline]
    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), EncodeError> {
        write(value, self.out, self.trace)?;
        if let Some((_, end)) = self.unordered.as_mut().and_then(|unordered| unordered.entries.last_mut()) {
            *end = self.out.0.len();
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
        $(impl<T: Trace> ser::$of for Compound<'_, T> {
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
        $(impl<T: Trace> ser::$of for Compound<'_, T> {
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
