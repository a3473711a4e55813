//! The shapes of parameters and results, and values in Rust's notation.
//!
//! An app's SDK describes its jobs' bytes in the section `sateen.shapes` (`docs/abi.md`). Both that section and the
//! bytes are untrusted: a value is written up to a maximum length, and bytes that do not fit their shape are not shown.

mod reader;
mod writer;

/// The section's name. A line for each job: `NAME PARAMETERS -> RESULT`.
pub const SHAPES_SECTION: &str = "sateen.shapes";
/// Maximum nesting of shapes.
const DEPTH_MAX: usize = 64;

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
    /// `@N`: a named type that encloses this place, counted in named types outwards.
    Outer(usize),
}

/// The fields of a struct or a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fields {
    /// Nothing.
    Unit,
    /// Parts by position.
    Tuple(Vec<Shape>),
    /// Parts by name.
    Named(Vec<(String, Shape)>),
}

/// A shape without parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    /// A byte, 0 or 1.
    Bool,
    /// A string of one letter.
    Char,
    /// A length, then UTF-8.
    Str,
    /// A length, then bytes.
    Bytes,
    /// A byte.
    U8,
    /// A signed byte.
    I8,
    /// An integer with this number of bits, as a varint.
    Unsigned(u32),
    /// The same, signed, in zigzag encoding.
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
    /// Shape of its parameters, a tuple; if known.
    pub parameters: Option<Shape>,
    /// Shape of its result.
    pub result: Option<Shape>,
}

impl JobShape {
    /// Reads the text after the job's name in the section: `PARAMETERS -> RESULT`. `_` stands for an unknown shape.
    pub fn parse(text: &str) -> Option<Self> {
        let (parameters, result) = text.split_once(" -> ")?;
        Some(Self { parameters: Shape::parse(parameters), result: Shape::parse(result) })
    }

    /// A call of the job `name` with these encoded parameters, in Rust's notation, if they fit the
    /// shape; at most about `length` bytes long.
    pub fn call(&self, name: &str, parameters: &[u8], length: usize) -> Option<String> {
        let shape = self.parameters.as_ref().filter(|shape| matches!(shape, Shape::Tuple(_)))?;
        Some(format!("{name}{}", shape.show(parameters, length)?))
    }

    /// An encoded result, in Rust's notation.
    pub fn result(&self, result: &[u8], length: usize) -> Option<String> {
        self.result.as_ref()?.show(result, length)
    }
}

impl Shape {
    /// Reads a shape's text.
    pub fn parse(text: &str) -> Option<Self> {
        reader::read(text)
    }

    /// The value encoded in `bytes`, in Rust's notation. After about `length` bytes of text, `…` stands for the
    /// rest. `None` if the bytes do not fit the shape.
    pub fn show(&self, bytes: &[u8], length: usize) -> Option<String> {
        writer::write(self, bytes, length)
    }
}

#[cfg(test)]
mod tests;
