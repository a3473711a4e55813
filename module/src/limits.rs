//! Limits on a module, checked before any of it runs.

/// Maximum imports; the ABI has 24.
pub const IMPORTS_MAX: usize = 1024;
/// Maximum imports that a refusal names.
pub const FOREIGN_SHOWN_MAX: usize = 8;
/// Maximum exports.
pub const EXPORTS_MAX: usize = 16 * 1024;
/// Maximum functions defined. Large apps have some thousands.
pub const FUNCTIONS_MAX: usize = 100_000;
/// Maximum globals: each instance has all of them.
pub const GLOBALS_MAX: usize = 10_000;
/// Maximum tables: instances come from pools with room for one table each.
pub const TABLES_MAX: usize = 1;
/// Maximum elements of a table.
pub const TABLE_ELEMENTS_MAX: usize = 100_000;
/// Maximum length of an export's name.
pub const NAME_BYTES_MAX: usize = 256;
/// Maximum total length of all exports' names: they are kept, and appear in answers, as long as the app is known.
pub const NAMES_BYTES_MAX: usize = 128 << 10;
/// Maximum length of the manifest: the signatures of jobs and entry points.
pub const MANIFEST_BYTES_MAX: usize = 256 << 10;
/// Maximum lines of the manifest.
pub const MANIFEST_LINES_MAX: usize = 8 * 1024;

/// Limits on a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleLimits {
    /// Its size, in bytes.
    pub module_bytes_max: usize,
    /// The initial linear memory, in bytes.
    pub memory_bytes_max: usize,
    /// Elements of a table.
    pub table_elements_max: usize,
}

impl ModuleLimits {
    /// The most that any host grants, for modules of at most this size.
    pub const fn widest(module_bytes_max: usize) -> Self {
        Self { module_bytes_max, memory_bytes_max: 4 << 30, table_elements_max: TABLE_ELEMENTS_MAX }
    }
}

/// Formats `bytes` for people, in binary units.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value < 10.0 && value.fract() >= 0.05 { 1 } else { 0 };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// Formats a size and the limit that it exceeds, so that they differ: in bytes if both read the same in larger units.
pub fn sizes(bytes: u64, limit: u64) -> (String, String) {
    let in_units = (size(bytes), size(limit));
    if in_units.0 == in_units.1 && bytes != limit {
        return (format!("{bytes} bytes"), format!("{limit} bytes"));
    }
    in_units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1 << 30), "1 GiB");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(10 << 30), "10 GiB");
    }

    #[test]
    fn a_size_just_above_a_limit_differs_from_it() {
        let both = |bytes, limit| {
            let (bytes, limit) = sizes(bytes, limit);
            format!("{bytes} of {limit}")
        };
        assert_eq!(both(65 << 20, 64 << 20), "65 MiB of 64 MiB");
        assert_eq!(both((64 << 20) + 1, 64 << 20), "67108865 bytes of 67108864 bytes");
        assert_eq!(both(7, 7), "7 B of 7 B");
    }
}
