//! What instances are made from: the module, linked with the ABI, and words of their own.

use std::sync::Arc;

use parking_lot::Mutex;
use sateen_rewriter::{MODULE, WORDS};
use wasmtime::{InstancePre, Linker, Module, Store};

use super::words::Words;
use crate::guest::Guest;

/// Pages that are kept for the next instances.
const KEPT_MAX: usize = 64;

/// Makes one instance at a time.
pub struct Page {
    words: Arc<Words>,
    /// Linked for the first instance: linking takes longer than instantiation.
    instance_pre: Option<InstancePre<Guest>>,
    pages: Arc<Pages>,
}

/// What the next page begins with.
type Free = (Arc<Words>, Option<InstancePre<Guest>>);

/// The pages of a module.
pub struct Pages {
    module: Module,
    linker: Linker<Guest>,
    free: Mutex<Vec<Free>>,
}

impl Pages {
    /// The pages of an inspected `module`, which is linked for its first instance.
    pub fn new(module: Module, linker: Linker<Guest>) -> Self {
        Self { module, linker, free: Mutex::default() }
    }

    pub fn module(&self) -> &Module {
        &self.module
    }

    /// A page for a new instance.
    pub fn take(self: &Arc<Self>) -> wasmtime::Result<Page> {
        let page = |words, instance_pre| Page { words, instance_pre, pages: self.clone() };
        if let Some((words, instance_pre)) = self.free.lock().pop() {
            return Ok(page(words, instance_pre));
        }
        Ok(page(Arc::new(Words::new(self.module.engine())?), None))
    }
}

impl Page {
    pub fn words(&self) -> &Arc<Words> {
        &self.words
    }

    /// Makes an instance in the `store`.
    pub fn instance_pre(&mut self, store: &Store<Guest>) -> wasmtime::Result<&InstancePre<Guest>> {
        let instance_pre = match self.instance_pre.take() {
            Some(instance_pre) => instance_pre,
            None => {
                let mut linker = self.pages.linker.clone();
                linker.define(store, MODULE, WORDS, self.words.memory())?;
                linker.instantiate_pre(&self.pages.module)?
            }
        };
        Ok(self.instance_pre.insert(instance_pre))
    }
}

/// The instance is gone, and nobody writes to its words any more.
impl Drop for Page {
    fn drop(&mut self) {
        self.words.clear();
        let mut free = self.pages.free.lock();
        if free.len() < KEPT_MAX {
            free.push((self.words.clone(), self.instance_pre.take()));
        }
    }
}
