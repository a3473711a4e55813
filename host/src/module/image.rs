//! Images of instances: what their memory has become, to begin others with it.

use wasmtime::{AsContextMut, Global, Instance, Memory, ModuleExport, Val};

use crate::memory::Kept;

/// The unit in which memories are compared.
const PART_BYTES: usize = 4 << 10;
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
    /// Changed parts of the memory, by their address.
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
}

fn is_zero(part: &[u8]) -> bool {
    const ZEROS: [u8; PART_BYTES] = [0; PART_BYTES];
    *part == ZEROS[..part.len()]
}

impl Image {
    /// The image of an instance that began with a `blank` memory and now has this `memory`.
    pub fn new(blank: &Blank, memory: &[u8], globals: Vec<(ModuleExport, Val)>) -> Self {
        let mut parts: Vec<(usize, Vec<u8>)> = Vec::new();
        for (number, part) in memory.chunks(PART_BYTES).enumerate() {
            if blank.is_equal(number, part) {
                continue;
            }
            let address = number * PART_BYTES;
            match parts.last_mut() {
                Some((before, bytes)) if *before + bytes.len() == address => bytes.extend_from_slice(part),
                _ => parts.push((address, part.to_vec())),
            }
        }
        Self { memory_bytes: memory.len(), parts, globals, _room: None }
    }

    /// Bytes that are copied to a new instance.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|(_, bytes)| bytes.len()).sum()
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
    pub async fn restore<T: Send + 'static>(
        &self,
        mut store: impl AsContextMut<Data = T>,
        instance: Instance,
        memory: Memory,
        check: impl Fn(&T) -> wasmtime::Result<()>,
    ) -> wasmtime::Result<()> {
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
        Ok(())
    }
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
mod tests {
    use super::*;

    #[test]
    fn an_image_has_what_has_changed() {
        let mut memory = vec![0; 8 * PART_BYTES];
        memory[PART_BYTES] = 1;
        memory[2 * PART_BYTES] = 2;
        let blank = Blank::of(&memory);
        assert_eq!(Image::new(&blank, &memory, Vec::new()).bytes(), 0);
        memory[2 * PART_BYTES] = 0;
        memory[3 * PART_BYTES + 5] = 3;
        memory.resize(10 * PART_BYTES, 0);
        memory[9 * PART_BYTES] = 4;
        let image = Image::new(&blank, &memory, Vec::new());
        let places: Vec<_> = image.parts.iter().map(|(address, bytes)| (*address, bytes.len())).collect();
        assert_eq!(places, [(2 * PART_BYTES, 2 * PART_BYTES), (9 * PART_BYTES, PART_BYTES)]);
        assert_eq!(image.memory_bytes(), 10 * PART_BYTES);
    }
}
