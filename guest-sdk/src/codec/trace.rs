//! Which part of a value is at a place of its encoded bytes.

/// How a part of a value is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// A field of a struct.
    Field(&'static str),
    /// A position in a tuple, sequence or map.
    Index(usize),
}

/// Observes which parts are written where.
pub trait Trace {
    /// A part begins at `offset`.
    fn enter(&mut self, name: Name, offset: usize);
    /// It ends.
    fn leave(&mut self);
}

/// Observes nothing.
impl Trace for () {
    #[inline(always)]
    fn enter(&mut self, _name: Name, _offset: usize) {}
    #[inline(always)]
    fn leave(&mut self) {}
}

/// Finds the innermost part that is written at an offset.
#[cfg(not(target_family = "wasm"))]
pub struct Locator {
    offset: usize,
    open: Vec<Name>,
    found: Vec<Name>,
}

#[cfg(not(target_family = "wasm"))]
impl Locator {
    /// Looks for what is at `offset`.
    pub fn new(offset: usize) -> Self {
        Self { offset, open: Vec::new(), found: Vec::new() }
    }

    /// The part's path, such as `shape.corners[2]`; empty if it is the whole value.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for name in &self.found {
            match name {
                Name::Field(field) if path.is_empty() => path += field,
                Name::Field(field) => path += &format!(".{field}"),
                Name::Index(index) => path += &format!("[{index}]"),
            }
        }
        path
    }
}

#[cfg(not(target_family = "wasm"))]
impl Trace for Locator {
    fn enter(&mut self, name: Name, offset: usize) {
        self.open.push(name);
        if offset <= self.offset {
            self.found.clone_from(&self.open);
        }
    }

    fn leave(&mut self) {
        self.open.pop();
    }
}
