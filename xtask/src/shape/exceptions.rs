//! What is larger than it is to be, how large it may be, and why.

/// One of them.
pub struct Exception {
    /// A path from the top, or such a path and a struct in it.
    pub name: &'static str,
    /// How large it is: it does not grow.
    pub most: usize,
    /// The reason.
    pub why: &'static str,
}

pub const LINES: [Exception; 0] = [];
pub const FIELDS: [Exception; 0] = [];
