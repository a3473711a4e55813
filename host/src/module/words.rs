//! The words through which other threads reach the code of an instance; see [`sateen_rewriter`].

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use sateen_rewriter::{POLL_WORD, STOP_WORD};
use wasmtime::{Engine, MemoryType, SharedMemory};

/// The words of one instance at a time.
pub struct Words(SharedMemory);

impl Words {
    pub fn new(engine: &Engine) -> wasmtime::Result<Self> {
        SharedMemory::new(engine, MemoryType::shared(1, 1)).map(Self)
    }

    /// The memory, for an instance to import.
    pub fn memory(&self) -> SharedMemory {
        self.0.clone()
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        let bytes = &self.0.data()[offset as usize..offset as usize + size_of::<u32>()];
        // SAFETY: the word lies in the shared memory, which does not move and lives as long as `self`. It is aligned, as
        // memories begin at pages and the offsets are multiples of 4. Guests only read it, atomically, and the host only
        // uses it here.
        #[allow(unsafe_code)]
        unsafe {
            AtomicU32::from_ptr(bytes.as_ptr().cast_mut().cast())
        }
    }

    /// The instance polls soon.
    pub fn ask_to_poll(&self) {
        self.word(POLL_WORD).store(1, SeqCst);
    }

    /// The instance polls now.
    pub fn begin_poll(&self) {
        self.word(POLL_WORD).store(0, SeqCst);
    }

    /// Whether the instance was asked to poll, and has not done so.
    pub fn is_poll_due(&self) -> bool {
        self.word(POLL_WORD).load(SeqCst) != 0
    }

    /// The instance traps soon.
    pub fn stop(&self) {
        self.word(STOP_WORD).store(1, SeqCst);
    }

    /// Whether it was told to.
    pub fn is_stopped(&self) -> bool {
        self.word(STOP_WORD).load(SeqCst) != 0
    }

    /// The words of a new instance.
    pub fn clear(&self) {
        self.word(POLL_WORD).store(0, SeqCst);
        self.word(STOP_WORD).store(0, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_by_itself() {
        let mut config = wasmtime::Config::new();
        let engine = Engine::new(config.shared_memory(true)).unwrap();
        let words = Words::new(&engine).unwrap();
        assert!(!words.is_poll_due() && !words.is_stopped());
        words.ask_to_poll();
        assert!(words.is_poll_due() && !words.is_stopped());
        words.begin_poll();
        words.stop();
        assert!(!words.is_poll_due() && words.is_stopped());
        words.clear();
        assert!(!words.is_stopped());
    }
}
