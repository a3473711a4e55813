//! The words through which other threads reach the code of an instance; see [`sateen_rewriter`].

use std::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::SeqCst, fence};

use sateen_rewriter::{POLL_WORDS, STOP_WORDS, WORDS_EACH};
use wasmtime::{Engine, MemoryType, SharedMemory};

/// The words of one instance at a time. All of a kind are set or cleared together, the first before the others.
pub struct Words(SharedMemory);

impl Words {
    pub fn new(engine: &Engine) -> wasmtime::Result<Self> {
        SharedMemory::new(engine, MemoryType::shared(1, 1)).map(Self)
    }

    /// The memory, for an instance to import.
    pub fn memory(&self) -> SharedMemory {
        self.0.clone()
    }

    /// The words of a kind, which begin at this offset.
    fn all(&self, offset: u64) -> &[AtomicU32] {
        let bytes = &self.0.data()[offset as usize..(offset + 4 * WORDS_EACH) as usize];
        // SAFETY: the words lie in the shared memory, which does not move and lives as long as `self`. They are aligned,
        // as memories begin at pages and the offsets are multiples of 4. Guests only read them, and the host only uses
        // them here.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(bytes.as_ptr().cast(), WORDS_EACH as usize)
        }
    }

    fn set(&self, offset: u64, to: u32) {
        for word in self.all(offset) {
            word.store(to, Relaxed);
        }
    }

    /// The instance polls soon, and then reads what was written before.
    pub fn ask_to_poll(&self) {
        fence(SeqCst);
        self.set(POLL_WORDS, 1);
    }

    /// The instance polls now, and reads what was written before it was asked to.
    pub fn begin_poll(&self) {
        self.set(POLL_WORDS, 0);
        fence(SeqCst);
    }

    /// Whether the instance was asked to poll, and has not done so.
    pub fn is_poll_due(&self) -> bool {
        self.all(POLL_WORDS)[0].load(SeqCst) != 0
    }

    /// The instance traps soon.
    pub fn stop(&self) {
        self.set(STOP_WORDS, 1);
        fence(SeqCst);
    }

    /// Whether it was asked to.
    pub fn is_stopped(&self) -> bool {
        self.all(STOP_WORDS)[0].load(SeqCst) != 0
    }

    /// The words of a new instance.
    pub fn clear(&self) {
        self.set(POLL_WORDS, 0);
        self.set(STOP_WORDS, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_words_is_by_itself() {
        let mut config = wasmtime::Config::new();
        let engine = Engine::new(config.shared_memory(true)).unwrap();
        let words = Words::new(&engine).unwrap();
        assert!(!words.is_poll_due() && !words.is_stopped());
        words.ask_to_poll();
        assert!(words.is_poll_due() && !words.is_stopped());
        assert!(words.all(POLL_WORDS).iter().all(|word| word.load(SeqCst) == 1));
        words.begin_poll();
        words.stop();
        assert!(!words.is_poll_due() && words.is_stopped());
        words.clear();
        assert!(!words.is_stopped());
        assert!(words.all(STOP_WORDS).iter().all(|word| word.load(SeqCst) == 0));
    }
}
