//! Parts of images that instances share until they write to them: a file in memory, mapped copy on write into the memory of
//! each instance.

use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::{pread, pwrite};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous};

use super::PART_BYTES;

/// The unit in which images are cut. Some systems have larger pages.
const PAGE_BYTES: usize = PART_BYTES;
const ACCESS: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);
const MAPPING: MapFlags = MapFlags::PRIVATE.union(MapFlags::FIXED).union(MapFlags::NORESERVE);

/// Parts of a memory, in a file that cannot change any more.
pub struct SharedParts {
    file: OwnedFd,
    parts: Vec<Part>,
}

/// A part of a memory. Its place in the file follows that of the part before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    address: usize,
    bytes: usize,
}

/// Parts of an instance's memory that are mapped from the file. When this is dropped, they are zeros again: the engine reuses
/// the memory, and only knows what it has mapped itself.
pub struct Mapped {
    /// The address of the memory.
    base: usize,
    parts: Vec<Part>,
}

impl SharedParts {
    /// These `parts` (address and length, multiples of 4 KiB, in order) of a `memory`. `None` if this system cannot share them.
    pub fn new(memory: &[u8], parts: &[(usize, usize)]) -> Option<Self> {
        if rustix::param::page_size() != PAGE_BYTES || parts.is_empty() {
            return None;
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("sateen-image", flags).ok()?;
        let mut offset = 0;
        for (address, bytes) in parts {
            write_all(&file, memory.get(*address..address + bytes)?, offset)?;
            offset += *bytes as u64;
        }
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
        fcntl_add_seals(&file, seals).ok()?;
        let parts = parts.iter().map(|(address, bytes)| Part { address: *address, bytes: *bytes }).collect();
        Some(Self { file, parts })
    }

    /// Bytes in the file.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Maps the parts into a `memory`, which must be as large as that which they were taken of. If the system refuses, the
    /// parts hold anything, and can be [copied](Self::copy).
    ///
    /// # Safety
    /// The memory is private memory of this process. It does not move and is not freed before the result is dropped. When the
    /// result is dropped, nobody uses the memory any more.
    #[allow(unsafe_code)]
    pub unsafe fn map(&self, memory: &mut [u8]) -> Option<Mapped> {
        let base = memory.as_mut_ptr();
        if !base.addr().is_multiple_of(PAGE_BYTES) {
            return None;
        }
        let mut mapped =
            Mapped { base: base.expose_provenance(), parts: Vec::with_capacity(self.parts.len()) };
        let mut offset = 0;
        for part in &self.parts {
            let place = memory.get_mut(part.address..part.address + part.bytes)?.as_mut_ptr();
            // A mapping that fails may have removed what was there, so it has to be undone, too.
            mapped.parts.push(*part);
            // SAFETY: the place lies within the memory, which nobody else uses now. The file is sealed, so what is mapped
            // does not change or end, and a private mapping passes nothing on to it.
            unsafe { mmap(place.cast(), part.bytes, ACCESS, MAPPING, &self.file, offset) }.ok()?;
            offset += part.bytes as u64;
        }
        Some(mapped)
    }

    /// Copies the parts into a `memory` instead. `None` if they cannot be read, or do not fit.
    pub fn copy(&self, memory: &mut [u8]) -> Option<()> {
        let mut offset = 0;
        for part in &self.parts {
            let mut room = memory.get_mut(part.address..part.address + part.bytes)?;
            while !room.is_empty() {
                let read = pread(&self.file, &mut *room, offset).ok().filter(|read| *read > 0)?;
                room = &mut room[read..];
                offset += read as u64;
            }
        }
        Some(())
    }
}

fn write_all(file: &OwnedFd, mut bytes: &[u8], mut offset: u64) -> Option<()> {
    while !bytes.is_empty() {
        let written = pwrite(file, bytes, offset).ok().filter(|written| *written > 0)?;
        bytes = &bytes[written..];
        offset += written as u64;
    }
    Some(())
}

impl Drop for Mapped {
    fn drop(&mut self) {
        for part in &self.parts {
            let place = std::ptr::with_exposed_provenance_mut::<u8>(self.base + part.address);
            // SAFETY: `map` was promised that the memory is still there, and that nobody uses it.
            #[allow(unsafe_code)]
            unsafe {
                if let Err(error) = mmap_anonymous(place.cast(), part.bytes, ACCESS, MAPPING) {
                    // The next instance in this memory would find what this one had, perhaps of another app.
                    tracing::error!(%error, "the memory of an instance cannot be cleared");
                    std::process::abort();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of its own, as an instance has.
    struct Anonymous(*mut u8);

    const BYTES: usize = 8 * PAGE_BYTES;

    impl Anonymous {
        #[allow(unsafe_code)]
        fn new() -> Self {
            // SAFETY: nothing is mapped over.
            let base = unsafe { mmap_anonymous(std::ptr::null_mut(), BYTES, ACCESS, MapFlags::PRIVATE) };
            Self(base.expect("there is memory").cast())
        }

        #[allow(unsafe_code)]
        fn bytes(&mut self) -> &mut [u8] {
            // SAFETY: it is as long, and lives as long as the process.
            unsafe { std::slice::from_raw_parts_mut(self.0, BYTES) }
        }

        #[allow(unsafe_code)]
        fn map(&mut self, parts: &SharedParts) -> Mapped {
            // SAFETY: it is never freed, and tests use it only between the calls.
            unsafe { parts.map(self.bytes()) }.expect("this system can")
        }
    }

    fn image() -> (Vec<u8>, SharedParts) {
        let memory: Vec<u8> = (0..BYTES).map(|at| (at / PAGE_BYTES) as u8 + 1).collect();
        let parts = [(PAGE_BYTES, 2 * PAGE_BYTES), (5 * PAGE_BYTES, PAGE_BYTES)];
        let parts = SharedParts::new(&memory, &parts).expect("this system can");
        assert_eq!(parts.bytes(), 3 * PAGE_BYTES);
        (memory, parts)
    }

    fn pages(memory: &[u8]) -> Vec<u8> {
        memory.chunks(PAGE_BYTES).map(|page| page[0]).collect()
    }

    #[test]
    fn what_an_instance_writes_is_its_own() {
        let (_, parts) = image();
        let (mut one, mut other) = (Anonymous::new(), Anonymous::new());
        one.bytes().fill(9);
        let (of_one, of_other) = (one.map(&parts), other.map(&parts));
        assert_eq!(pages(one.bytes()), [9, 2, 3, 9, 9, 6, 9, 9]);
        one.bytes()[2 * PAGE_BYTES] = 7;
        assert_eq!(pages(other.bytes()), [0, 2, 3, 0, 0, 6, 0, 0]);
        assert_eq!(pages(one.bytes()), [9, 2, 7, 9, 9, 6, 9, 9]);
        drop(of_one);
        assert_eq!(pages(one.bytes()), [9, 0, 0, 9, 9, 0, 9, 9], "nothing is left for the next instance");
        assert_eq!(pages(other.bytes()), [0, 2, 3, 0, 0, 6, 0, 0]);
        one.bytes()[PAGE_BYTES] = 8;
        let again = one.map(&parts);
        assert_eq!(pages(one.bytes()), [9, 2, 3, 9, 9, 6, 9, 9]);
        drop((of_other, again));
    }

    #[test]
    fn what_cannot_be_mapped_is_copied() {
        let (memory, parts) = image();
        let mut one = Anonymous::new();
        parts.copy(one.bytes()).expect("it fits");
        assert_eq!(pages(one.bytes()), [0, 2, 3, 0, 0, 6, 0, 0]);
        assert_eq!(one.bytes()[PAGE_BYTES..3 * PAGE_BYTES], memory[PAGE_BYTES..3 * PAGE_BYTES]);
        assert_eq!(parts.copy(&mut one.bytes()[..4 * PAGE_BYTES]), None);
        let (half, _) = one.bytes().split_at_mut(4 * PAGE_BYTES);
        // SAFETY: as in `Anonymous::map`.
        #[allow(unsafe_code)]
        let mapped = unsafe { parts.map(half) };
        assert!(mapped.is_none(), "it does not fit");
        assert!(SharedParts::new(&memory, &[]).is_none());
    }
}
