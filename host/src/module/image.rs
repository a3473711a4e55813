//! Images of instances: what their memory has become, to begin others with it.

use wasmtime::{AsContextMut, Global, Instance, Memory, ModuleExport, Val};

use super::PART_BYTES;
use super::mapped::{Mapped, SharedParts};
use crate::memory::Kept;

/// Changed parts that are as near to each other are mapped as one, with what lies between them.
const JOINED_BYTES: usize = 64 << 10;
/// A smaller part is copied into memory that instances before have left: mapping it, and fetching its pages as the instance
/// touches them, takes longer.
const MAPPED_MIN: usize = 3 << 20;
/// Maximum number of parts that are mapped; each is a mapping of its own, of which a process has a limited number.
const MAPPINGS_MAX: usize = 8;
const WASM_PAGE_BYTES: usize = 64 << 10;

/// The memory of an instance that has just begun.
pub struct Blank {
    /// By part, without those that are all zeros.
    parts: Vec<Option<Box<[u8]>>>,
}

/// What has changed in an instance since it began.
pub struct Image {
    /// The size of its memory.
    memory_bytes: usize,
    /// Large parts, which instances share until they write to them.
    shared: Option<SharedParts>,
    /// The other changed parts of the memory, by their address.
    parts: Vec<(usize, Vec<u8>)>,
    /// The values of exported globals.
    globals: Vec<(ModuleExport, Val)>,
    /// The image's share of the host's memory, if that is limited.
    _room: Option<Kept>,
}

impl Blank {
    /// Remembers this memory.
    pub fn of(memory: &[u8]) -> Self {
        let part = |part: &[u8]| (!is_zero(part)).then(|| part.into());
        Self { parts: memory.chunks(PART_BYTES).map(part).collect() }
    }

    fn is_equal(&self, number: usize, part: &[u8]) -> bool {
        match self.parts.get(number) {
            Some(Some(before)) => **before == *part,
            Some(None) | None => is_zero(part),
        }
    }

    /// The address from which on it is all zeros.
    fn data_end(&self) -> usize {
        self.parts.iter().rposition(Option::is_some).map_or(0, |last| (last + 1) * PART_BYTES)
    }
}

fn is_zero(part: &[u8]) -> bool {
    const ZEROS: [u8; PART_BYTES] = [0; PART_BYTES];
    *part == ZEROS[..part.len()]
}

impl Image {
    /// The image of an instance that began with a `blank` memory and now has this `memory`. Large parts are shared if the
    /// instances' memories are `mappable`.
    ///
    /// Only what is behind the module's data is shared: the engine relies on finding the data, or what the instance has made
    /// of it, where it has put it.
    pub fn new(blank: &Blank, memory: &[u8], globals: Vec<(ModuleExport, Val)>, mappable: bool) -> Self {
        let data_end = blank.data_end();
        let (mut changed, mut behind) = (Vec::new(), Vec::new());
        for (number, part) in memory.chunks(PART_BYTES).enumerate() {
            if !blank.is_equal(number, part) {
                let address = number * PART_BYTES;
                let parts = if address < data_end { &mut changed } else { &mut behind };
                join(parts, address, part.len(), 0);
            }
        }
        let large = if mappable { large(&behind) } else { Vec::new() };
        let shared = SharedParts::new(memory, &large);
        let is_shared = |address: usize| {
            shared.is_some() && large.iter().any(|(start, bytes)| (*start..start + bytes).contains(&address))
        };
        for (address, bytes) in behind {
            if !is_shared(address) {
                join(&mut changed, address, bytes, 0);
            }
        }
        let bytes_of =
            |(address, bytes): (usize, usize)| (address, memory[address..address + bytes].to_vec());
        let parts = changed.into_iter().map(bytes_of).collect();
        Self { memory_bytes: memory.len(), shared, parts, globals, _room: None }
    }

    /// Bytes that a new instance gets.
    pub fn bytes(&self) -> usize {
        let shared = self.shared.as_ref().map_or(0, SharedParts::bytes);
        shared + self.parts.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    }

    /// The memory of an instance that begins with it, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// The image with its share of the host's memory.
    pub fn with_room(self, room: Kept) -> Self {
        Self { _room: Some(room), ..self }
    }

    /// Makes a new `instance` equal to the one that the image was taken of. `check` is called now and then, and may end
    /// this early.
    ///
    /// # Safety
    /// The result is dropped before the `instance`, which is not used afterwards.
    #[allow(unsafe_code)]
    pub async unsafe fn restore<T: Send + 'static>(
        &self,
        mut store: impl AsContextMut<Data = T>,
        instance: Instance,
        memory: Memory,
        check: impl Fn(&T) -> wasmtime::Result<()>,
    ) -> wasmtime::Result<Option<Mapped>> {
        const CHECKED_BYTES: usize = 1 << 20;
        let more = self.memory_bytes.saturating_sub(memory.data_size(&store));
        if more > 0 {
            memory.grow_async(&mut store, (more / WASM_PAGE_BYTES) as u64).await?;
        }
        for (address, bytes) in &self.parts {
            for (at, bytes) in (*address..).step_by(CHECKED_BYTES).zip(bytes.chunks(CHECKED_BYTES)) {
                memory.write(&mut store, at, bytes)?;
                check(store.as_context().data())?;
            }
        }
        for (export, value) in &self.globals {
            if let Some(global) = global(&mut store, instance, export) {
                global.set(&mut store, *value)?;
            }
        }
        let Some(shared) = &self.shared else { return Ok(None) };
        let memory = memory.data_mut(&mut store);
        // SAFETY: memories of pooled instances are private to the process and stay where they are until the instance is
        // dropped.
        let mapped = unsafe { shared.map(&mut *memory) };
        if mapped.is_none() {
            shared.copy(memory).ok_or_else(|| wasmtime::Error::msg("an image in memory cannot be read"))?;
        }
        Ok(mapped)
    }
}

/// Adds a part to others, as one with the last if it is at most `gap` bytes behind it.
fn join(parts: &mut Vec<(usize, usize)>, address: usize, bytes: usize, gap: usize) {
    match parts.last_mut() {
        Some((start, length)) if address - (*start + *length) <= gap => *length = address + bytes - *start,
        _ => parts.push((address, bytes)),
    }
}

/// The parts that are mapped, of those that have `changed`.
fn large(changed: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut parts = Vec::new();
    for (address, bytes) in changed {
        join(&mut parts, *address, *bytes, JOINED_BYTES);
    }
    parts.retain(|(_, bytes)| *bytes >= MAPPED_MIN);
    parts.sort_unstable_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    parts.truncate(MAPPINGS_MAX);
    parts.sort_unstable();
    parts
}

/// The values of these exported globals.
pub fn values(
    mut store: impl AsContextMut,
    instance: Instance,
    globals: &[ModuleExport],
) -> Vec<(ModuleExport, Val)> {
    let value = |export: &ModuleExport| {
        let global = global(&mut store, instance, export)?;
        Some((*export, global.get(&mut store)))
    };
    globals.iter().filter_map(value).collect()
}

fn global(store: impl AsContextMut, instance: Instance, export: &ModuleExport) -> Option<Global> {
    instance.get_module_export(store, export)?.into_global()
}

#[cfg(test)]
mod instances;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_has_what_has_changed() {
        let mut memory = vec![0; 8 * PART_BYTES];
        memory[PART_BYTES] = 1;
        memory[2 * PART_BYTES] = 2;
        let blank = Blank::of(&memory);
        assert_eq!(Image::new(&blank, &memory, Vec::new(), true).bytes(), 0);
        memory[2 * PART_BYTES] = 0;
        memory[3 * PART_BYTES + 5] = 3;
        memory.resize(10 * PART_BYTES, 0);
        memory[9 * PART_BYTES] = 4;
        let image = Image::new(&blank, &memory, Vec::new(), true);
        let places: Vec<_> = image.parts.iter().map(|(address, bytes)| (*address, bytes.len())).collect();
        assert_eq!(places, [(2 * PART_BYTES, 2 * PART_BYTES), (9 * PART_BYTES, PART_BYTES)]);
        assert_eq!(image.memory_bytes(), 10 * PART_BYTES);
    }

    #[test]
    fn large_parts_are_shared_with_what_lies_between_them() {
        const KIB: usize = 1 << 10;
        const MIB: usize = 1 << 20;
        let changed = [(0, 4 * KIB), (MIB, 2 * MIB), (3 * MIB + 44 * KIB, MIB), (5 * MIB, 4 * KIB)];
        assert_eq!(large(&changed), [(MIB, 3 * MIB + 44 * KIB)]);
        let many: Vec<_> = (0..20).map(|part| (part << 24, (4 << 20) + part * KIB)).collect();
        assert_eq!(large(&many), many[20 - MAPPINGS_MAX..]);

        let mut memory = vec![0; 8 * MIB];
        let blank = Blank::of(&memory);
        memory[..8 * KIB].fill(1);
        memory[MIB..5 * MIB].fill(2);
        for (pooled, copied) in [(true, vec![0]), (false, vec![0, MIB])] {
            let image = Image::new(&blank, &memory, Vec::new(), pooled);
            assert_eq!(image.parts.iter().map(|(address, _)| *address).collect::<Vec<_>>(), copied);
            assert_eq!(image.bytes(), 8 * KIB + 4 * MIB);
        }
    }
}
