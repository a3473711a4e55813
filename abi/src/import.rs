//! The imports: everything that a guest can ask of its host.

/// The module name of all imports.
pub const MODULE: &str = "sateen";

/// A type of a parameter or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Four bytes.
    I32,
    /// Eight bytes.
    I64,
}

/// An import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Import {
    /// Its name.
    pub name: &'static str,
    /// Its parameters.
    pub takes: &'static [Type],
    /// Its results.
    pub gives: &'static [Type],
}

const fn import(name: &'static str, takes: &'static [Type], gives: &'static [Type]) -> Import {
    Import { name, takes, gives }
}

use Type::{I32, I64};

/// Every import.
pub const ALL: [Import; 25] = [
    import("attach", &[I32], &[]),
    import("latent", &[I32, I32], &[]),
    import("register", &[I32, I32, I32], &[I32]),
    import("expose", &[I32, I32, I32, I32], &[I32]),
    import("sync", &[I32], &[I64]),
    import("sync_any", &[I32, I32, I32], &[I64]),
    import("wants_record", &[I32], &[I32]),
    import("record", &[I32, I32, I32], &[]),
    import("take", &[I32], &[]),
    import("abandon", &[I32], &[]),
    import("attempt", &[I32], &[I64]),
    import("panic", &[I32, I32], &[]),
    import("fail", &[I32, I32, I32], &[]),
    import("log", &[I32, I32], &[]),
    import("progress", &[I64, I64], &[]),
    import("input", &[I32, I32], &[I64]),
    import("share", &[I32, I32, I32], &[I32]),
    import("open", &[I32], &[I32]),
    import("close", &[I32], &[]),
    import("mention", &[I32], &[]),
    import("catch_up", &[I32], &[I64]),
    import("update", &[I32, I32, I32, I32], &[I32]),
    import("snapshot", &[I32, I32, I32], &[]),
    import("hold", &[I32, I32], &[]),
    import("measure", &[I32, I32, I32, I32], &[I32]),
];
