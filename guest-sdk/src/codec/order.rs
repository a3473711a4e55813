//! The order in which entries of maps and sets are written.

use super::buffer::Buffer;

/// The meaning of the order of entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The order is meaningful: it is written.
    Kept,
    /// The order has no meaning.
    None,
    /// The order has no known meaning.
    Unknown,
}

/// The last part of a type's path, without pointers before it and parameters after it.
fn bare(mut type_name: &str) -> &str {
    const POINTERS: [&str; 6] =
        ["&", "mut ", "alloc::boxed::Box<", "alloc::rc::Rc<", "alloc::sync::Arc<", "core::cell::RefCell<"];
    while let Some(rest) = POINTERS.iter().find_map(|pointer| type_name.strip_prefix(pointer)) {
        type_name = rest;
    }
    let path = type_name.split('<').next().unwrap_or_default();
    path.rsplit("::").next().unwrap_or_default()
}

fn is_hashed(name: &str, of: &str) -> bool {
    name.strip_suffix(of).is_some_and(|kind| kind.ends_with("Hash") || kind.ends_with("Dash"))
        && !name.contains("Linked")
}

/// The order of a sequence; sets are written as sequences, too.
pub fn order_of_elements(_out: &Buffer, type_name: &str) -> Order {
    if is_hashed(bare(type_name), "Set") { Order::None } else { Order::Kept }
}

/// The order of a map. A wrapper hides its map's type, so only types known to have an order keep it.
pub fn order_of_entries(out: &Buffer, type_name: &str) -> Order {
    /// Maps whose order depends only on their keys, or is the order of insertion.
    const ORDERED: [&str; 4] = ["BTreeMap", "IndexMap", "LinkedHashMap", "OrderMap"];
    let name = bare(type_name);
    if ORDERED.contains(&name) || type_name.starts_with(crate::collections::ENTRIES) {
        Order::Kept
    } else if is_hashed(name, "Map") {
        Order::None
    } else if out.keeps_order {
        Order::Kept
    } else {
        Order::Unknown
    }
}

/// Entries that are sorted when all are written.
pub struct Unordered {
    begin: usize,
    /// Where each entry's key ends, and the entry.
    entries: Vec<(usize, usize)>,
    /// The type may have a meaningful order after all.
    is_unknown: bool,
}

impl Unordered {
    /// For entries that are written from here on; `None` if their order is kept.
    #[inline]
    pub fn new(order: Order, out: &Buffer) -> Option<Self> {
        (order != Order::Kept).then(|| Self {
            begin: out.bytes.len(),
            entries: Vec::new(),
            is_unknown: order == Order::Unknown,
        })
    }

    /// An element of a set has been written, which is a key without a value.
    pub fn element_ends(&mut self, out: &Buffer) {
        self.entries.push((out.bytes.len(), out.bytes.len()));
    }

    /// A map's key has been written; its value follows.
    pub fn key_ends(&mut self, out: &Buffer) {
        self.entries.push((out.bytes.len(), 0));
    }

    /// The value after the last key has been written.
    pub fn value_ends(&mut self, out: &Buffer) {
        if let Some((_, end)) = self.entries.last_mut() {
            *end = out.bytes.len();
        }
    }

    /// Writes the entries anew, in the order of their keys.
    pub fn sort(self, out: &mut Buffer) {
        out.has_ordered |= self.is_unknown && self.entries.len() > 1;
        let written = out.bytes.split_off(self.begin);
        let mut begin = 0;
        let mut entries: Vec<(&[u8], &[u8])> = Vec::with_capacity(self.entries.len());
        for (key_end, end) in self.entries {
            let (key_end, end) = (key_end - self.begin, end - self.begin);
            entries.push((&written[begin..key_end], &written[begin..end]));
            begin = end;
        }
        entries.sort_unstable();
        entries.iter().for_each(|(_, entry)| out.bytes.extend_from_slice(entry));
    }
}
