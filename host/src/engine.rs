//! The wasm engine, set up so that guests are deterministic, bounded and stoppable.

use std::borrow::Cow;

use wasmtime::{
    Config, Enabled, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, WasmFeatures,
};

use sateen_module::FEATURES;

use crate::failure::RunError;
use crate::limits::Limits;

/// Bytes of the guest's stack reserved for host functions, which run on it as well.
const HOST_STACK_BYTES: usize = 256 << 10;

/// Bytes that an instance has written which stay in memory for the next one in its slot.
const KEPT_BYTES: usize = 4 << 20;
/// The same if memory is scarce: for a stack, and as a part of the memory for the slots of each run.
const KEPT_STACK_BYTES: usize = 32 << 10;
const KEPT_PARTS: usize = 64;

/// An engine for guests under certain limits.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: wasmtime::Engine,
    pub(crate) limits: Limits,
    pub(crate) strict_nan: bool,
    /// Whether guests can be stopped while they compute.
    pub(crate) is_stoppable: bool,
    /// Whether its instances lie in a pool, for which their code is compiled.
    pub(crate) is_pooled: bool,
}

impl Engine {
    /// An engine for guests under `limits`. With `strict_nan`, every float operation returns the canonical NaN,
    /// so that modules whose NaN bits can be observed are deterministic as well (scalar float code takes 2 to 7
    /// times as long, other code is not slower).
    ///
    /// # Errors
    /// If this machine cannot run guests, or not under these limits.
    pub fn new(limits: &Limits, strict_nan: bool) -> Result<Self, RunError> {
        Self::with_pool(limits, strict_nan, pool(limits), &|_| {})
    }

    /// Like [`new`](Self::new), with guests that cannot be reached while they compute: only for benchmarks.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn unstoppable(limits: &Limits) -> Result<Self, RunError> {
        Ok(Self { is_stoppable: false, ..Self::new(limits, false)? })
    }

    /// Like [`new`](Self::new), if memory is scarce: `bytes_max` for all guests of all runs. Almost all memory
    /// that instances leave behind is returned to the system; a little is kept for `threads` workers.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn frugal(
        limits: &Limits,
        strict_nan: bool,
        bytes_max: usize,
        threads: usize,
    ) -> Result<Self, RunError> {
        let mut pool = pool(limits);
        let warm = u32::try_from(threads + 1).unwrap_or(u32::MAX);
        pool.max_unused_warm_slots(warm).async_stack_keep_resident(KEPT_STACK_BYTES);
        if PoolingAllocationConfig::is_pagemap_scan_available() {
            pool.linear_memory_keep_resident(KEPT_BYTES.min(bytes_max / KEPT_PARTS / (threads + 1)));
        }
        Self::with_pool(limits, strict_nan, pool, &|config| {
            config.async_stack_zeroing(true);
        })
    }

    fn with_pool(
        limits: &Limits,
        strict_nan: bool,
        pool: PoolingAllocationConfig,
        change: &dyn Fn(&mut Config),
    ) -> Result<Self, RunError> {
        let changed = || {
            let mut config = config(strict_nan, limits);
            change(&mut config);
            config
        };
        // Address space for all instances is reserved ahead, so an instance costs only some microseconds. If not enough
        // can be reserved (`ulimit -v`), each instance is mapped when it begins.
        let pooled =
            wasmtime::Engine::new(changed().allocation_strategy(InstanceAllocationStrategy::Pooling(pool)));
        let is_pooled = pooled.is_ok();
        let inner = pooled
            .or_else(|_| wasmtime::Engine::new(unpooled(&mut changed())))
            .map_err(|error| RunError::Host(format!("the sandbox cannot be set up: {error:#}")))?;
        Ok(Self { inner, limits: limits.clone(), strict_nan, is_stoppable: true, is_pooled })
    }

    /// An engine that only compiles, for an engine that `is_pooled` or not, and reserves no address space.
    pub(crate) fn for_compiling(strict_nan: bool, is_pooled: bool) -> Result<Self, RunError> {
        let limits = Limits::default();
        let mut config = config(strict_nan, &limits);
        let inner = wasmtime::Engine::new(if is_pooled { &mut config } else { unpooled(&mut config) })
            .map_err(|error| RunError::Host(format!("the compiler cannot be set up: {error:#}")))?;
        Ok(Self { inner, limits, strict_nan, is_stoppable: true, is_pooled })
    }

    /// The module `bytes`, which were inspected, with the checks that make it stoppable.
    pub(crate) fn stoppable<'a>(&self, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, RunError> {
        if !self.is_stoppable {
            return Ok(Cow::Borrowed(bytes));
        }
        sateen_rewriter::rewrite(bytes)
            .map_err(|error| RunError::BadInput(format!("the module cannot be made stoppable: {error}")))
    }
}

fn config(strict_nan: bool, limits: &Limits) -> Config {
    let mut config = Config::new();
    config
        .wasm_features(WasmFeatures::all().difference(FEATURES), false)
        .wasm_features(FEATURES.difference(WasmFeatures::GC_TYPES), true)
        // For what the rewriter adds; the app itself was inspected without.
        .wasm_features(WasmFeatures::MULTI_MEMORY.union(WasmFeatures::THREADS), true)
        .shared_memory(true)
        .wasm_branch_hinting(true)
        .cranelift_opt_level(OptLevel::Speed)
        .cranelift_nan_canonicalization(strict_nan)
        .max_wasm_stack(limits.stack_bytes_max)
        .async_stack_size(limits.stack_bytes_max + HOST_STACK_BYTES);
    config
}

/// Memories that reserve little and move when they grow: slower, and for narrow address spaces.
fn unpooled(config: &mut Config) -> &mut Config {
    config
        .memory_reservation(0)
        .memory_reservation_for_growth(16 << 20)
        .memory_guard_size(64 << 10)
        .memory_may_move(true)
}

fn pool(limits: &Limits) -> PoolingAllocationConfig {
    let instances = u32::try_from(limits.instances_max).unwrap_or(u32::MAX);
    let attempts = u32::try_from(limits.attempts_max).unwrap_or(u32::MAX);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_core_instances(instances)
        .total_memories(instances)
        .total_tables(instances)
        .total_stacks(instances.saturating_add(attempts))
        .max_memories_per_module(1)
        .max_tables_per_module(1)
        .max_memory_size(limits.memory_bytes_max)
        .table_elements(limits.table_elements_max)
        .max_core_instance_size(1 << 20);
    // Where the system says which pages an instance has written (Linux 6.7 or later), these are written over for
    // the next one; elsewhere all would be, which takes longer than to get new ones.
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        pool.pagemap_scan(Enabled::Yes).linear_memory_keep_resident(KEPT_BYTES);
    }
    pool
}
