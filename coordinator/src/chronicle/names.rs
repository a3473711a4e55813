//! The names of a run's jobs.

use sateen_module::JobShape;

use super::tree::ROOT;

/// Names of a run's jobs.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// By kind.
    pub kinds: Vec<String>,
    /// The root's name.
    pub entry_point: String,
    /// By kind: how its jobs' parameters are encoded, where that is known.
    pub shapes: Vec<Option<JobShape>>,
}

impl Names {
    /// The name of a kind, as numbered in trees.
    pub fn of(&self, kind: u16) -> &str {
        if kind == ROOT {
            return &self.entry_point;
        }
        self.kinds.get(usize::from(kind)).map_or("unknown", String::as_str)
    }

    /// A job of this kind as a call, with its parameters as Rust would write them, cut at about `length` bytes.
    pub fn call(&self, kind: u16, parameters: &[u8], length: usize) -> Option<String> {
        self.shapes.get(usize::from(kind))?.as_ref()?.call(self.of(kind), parameters, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_named_by_their_kinds() {
        let kinds = vec!["one".to_owned(), "two".to_owned()];
        let names = Names { kinds, entry_point: "main".to_owned(), shapes: vec![None] };
        assert_eq!([0, 1, 2, ROOT].map(|kind| names.of(kind)), ["one", "two", "unknown", "main"]);
        assert_eq!([0, 1].map(|kind| names.call(kind, &[], 100)), [None, None], "no encoding is known");
    }
}
