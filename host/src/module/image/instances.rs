//! Images in instances of the engine.

use wasmtime::{Module, Store};

use super::*;
use crate::engine::Engine;
use crate::limits::Limits;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// A stack that ends where the data begins, and what the compiler knows of the memory behind it.
const DATA: usize = 2 * MIB;
const APP: &str = r#"(module
    (memory (export "memory") 256)
    (data (i32.const 2097152) "what the module itself has")
    (data (i32.const 2109472) "and has not changed"))"#;
const MEMORY: usize = 16 * MIB;

/// An instance, in the order in which it is dropped.
struct One {
    mapped: Option<Mapped>,
    store: Store<()>,
    instance: Instance,
    memory: Memory,
}

impl One {
    fn new(module: &Module) -> Self {
        let mut store = Store::new(module.engine(), ());
        let instance = Instance::new(&mut store, module, &[]).expect("it is valid");
        let memory = instance.get_memory(&mut store, "memory").expect("it has one");
        Self { mapped: None, store, instance, memory }
    }

    #[allow(unsafe_code)]
    fn like(module: &Module, image: &Image) -> Self {
        let mut one = Self::new(module);
        // SAFETY: what is mapped is dropped first.
        let restored = unsafe { image.restore(&mut one.store, one.instance, one.memory, |()| Ok(())) };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it can be made");
        one.mapped = runtime.block_on(restored).expect("it fits");
        one
    }

    fn bytes(&mut self) -> &mut [u8] {
        self.memory.data_mut(&mut self.store)
    }
}

/// An engine with few instances, which reuses their memories soon, and the module.
fn module() -> (Engine, Module) {
    let engine =
        Engine::new(&Limits { instances_max: 3, ..Limits::default() }, false).expect("it can be made");
    let module = Module::new(&engine.inner, wat::parse_str(APP).expect("it is text")).expect("it is valid");
    (engine, module)
}

/// An instance that has prepared values: on its stack, in what it has beside its data, and behind it.
fn prepared(module: &Module) -> (One, Blank) {
    let mut one = One::new(module);
    let blank = Blank::of(one.bytes());
    one.memory.grow(&mut one.store, 2).expect("it may");
    let bytes = one.bytes();
    bytes[DATA - 20 * KIB..DATA].fill(1);
    bytes[DATA + 13 * KIB..DATA + 9 * MIB].fill(2);
    bytes[MEMORY + 70 * KIB] = 3;
    (one, blank)
}

#[track_caller]
fn assert_equal(left: &[u8], right: &[u8]) {
    let differs = left.iter().zip(right).position(|(left, right)| left != right);
    assert_eq!((left.len(), differs), (right.len(), None));
}

#[test]
fn what_an_instance_writes_changes_neither_the_image_nor_another_instance() {
    let (engine, module) = module();
    for pooled in [engine.is_pooled, false] {
        let (mut first, blank) = prepared(&module);
        let image = Image::new(&blank, first.bytes(), Vec::new(), pooled);
        let mut one = One::like(&module, &image);
        assert_eq!(one.mapped.is_some(), pooled && cfg!(target_os = "linux"));
        assert_equal(one.bytes(), first.bytes());
        one.bytes().fill(9);
        let mut other = One::like(&module, &image);
        assert_equal(other.bytes(), first.bytes());
        drop(one);
        assert_equal(other.bytes(), first.bytes());
        assert_equal(One::like(&module, &image).bytes(), first.bytes());
    }
}

#[test]
fn memory_that_grows_after_an_image_is_zeros() {
    let (engine, module) = module();
    for pooled in [engine.is_pooled, false] {
        let (mut first, blank) = prepared(&module);
        let image = Image::new(&blank, first.bytes(), Vec::new(), pooled);
        drop(first);
        for _ in 0..4 {
            let mut one = One::like(&module, &image);
            assert_eq!(one.bytes().len(), MEMORY + 128 * KIB);
            one.memory.grow(&mut one.store, 4).expect("it may");
            assert_equal(&one.bytes()[MEMORY + 128 * KIB..], &[0; 256 * KIB]);
            one.bytes().fill(9);
        }
    }
}

#[test]
fn an_instance_without_the_image_has_nothing_of_it() {
    let (engine, module) = module();
    for pooled in [engine.is_pooled, false] {
        let (mut first, blank) = prepared(&module);
        let image = Image::new(&blank, first.bytes(), Vec::new(), pooled);
        drop(first);
        let mut new = vec![0; MEMORY];
        new[DATA..DATA + 26].copy_from_slice(b"what the module itself has");
        new[DATA + 12_320..DATA + 12_339].copy_from_slice(b"and has not changed");
        for _ in 0..2 {
            let mut like =
                [One::like(&module, &image), One::like(&module, &image), One::like(&module, &image)];
            like[1].bytes().fill(9);
            drop(like);
            let mut others = [One::new(&module), One::new(&module), One::new(&module)];
            for other in &mut others {
                assert_equal(other.bytes(), &new);
            }
        }
    }
}
