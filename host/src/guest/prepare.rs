//! Values that an app makes of the run's inputs alone (`#[prepare]`): made once on this host, and given to each new
//! instance.
//!
//! The first instance calls the exports that make them before its job begins, and the host takes an image of it. Other
//! workers wait meanwhile: they would make the same. Every further instance begins as a copy. If an export traps, or there
//! can be no image, each instance makes the values when its job uses them, as if there were no exports: then a failure is
//! that of the job which needs the value.

use std::time::Duration;

use wasmtime::{Instance, Store};

use super::Guest;
use super::aside::PREPARED;
use super::memory::broken;
use super::offered::Offered;
use super::processor;
use super::stopped::stop_of;
use crate::failure::Stop;
use crate::module::{Blank, Image, Mapped, global_values};
use crate::scheduler::{Beginning, Doing, Grid, end_turn};

/// What a host copies in this time, at the least, and the time that a copy takes besides. An image must save more.
const COPIED_BYTES_PER_US: usize = 1000;
const COPY_COST: Duration = Duration::from_micros(20);
/// How often a waiting worker looks whether it must stop.
const LOOK: Duration = Duration::from_millis(5);

/// What has become of a new instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// Its job may begin.
    Ready,
    /// It has trapped: its job needs another one.
    Spoilt,
}

/// Prepares a new instance for its job.
///
/// # Safety
/// What is `mapped` into the instance's memory is dropped before the store, which is not used in between.
#[allow(unsafe_code)]
pub async unsafe fn prepare(
    store: &mut Store<Guest>,
    instance: Instance,
    mapped: &mut Option<Mapped>,
) -> wasmtime::Result<Begun> {
    let guest = store.data_mut();
    if guest.registry.app.0.preparation.functions.is_empty() || guest.registry.is_pristine() {
        return Ok(Begun::Ready);
    }
    let making = match guest.begin_with_image().map_err(wasmtime::Error::new)? {
        Beginning::Make(making) => making,
        Beginning::Copy(image) => {
            if let Some(memory) = guest.exports.memory() {
                let check = |guest: &Guest| guest.check().map_err(wasmtime::Error::new);
                // SAFETY: that is what the caller promises.
                let restored = unsafe { image.restore(&mut *store, instance, memory, check) };
                *mapped = restored.await?;
            }
            return Ok(Begun::Ready);
        }
        Beginning::Apart => return Ok(Begun::Ready),
    };
    let Some(memory) = guest.exports.memory() else { return Ok(Begun::Ready) };
    let blank = Blank::of(memory.data(&*store));
    let before = store.data_mut().clock.total_work();
    let begun = make(store, instance).await?;
    let image = if begun == Begun::Ready {
        let took = store.data_mut().clock.total_work().saturating_sub(before);
        let app = store.data().registry.app.clone();
        let globals = global_values(&mut *store, instance, &app.0.preparation.globals);
        let image = Image::new(&blank, memory.data(&*store), globals, app.0.preparation.is_mappable);
        store.data().kept(image, took)
    } else {
        None
    };
    making.end(image);
    Ok(begun)
}

/// Calls the exports that make values.
async fn make(store: &mut Store<Guest>, instance: Instance) -> wasmtime::Result<Begun> {
    let app = store.data().registry.app.clone();
    let parameters = store.data_mut().begin_preparing()?;
    for (number, (name, export)) in app.0.preparation.functions.iter().enumerate() {
        store.data_mut().job.set_preparing(Some(number));
        let function = instance.get_module_export(&mut *store, export).and_then(wasmtime::Extern::into_func);
        let function = function.and_then(|function| function.typed::<(), ()>(&mut *store).ok());
        let Some(function) = function else {
            let message = format!("the export that prepares `{name}` is not a function without parameters");
            return Err(broken(store.data(), message));
        };
        let Err(error) = function.call_async(&mut *store, ()).await else { continue };
        let is_trap = error.downcast_ref::<Stop>().is_none();
        match stop_of(&mut *store, &error) {
            Stop::Limit(_) => {}
            Stop::Failed(_) if is_trap => {}
            stop => return Err(wasmtime::Error::new(stop)),
        }
        store.data_mut().end_preparing(parameters, Begun::Spoilt)?;
        return Ok(Begun::Spoilt);
    }
    store.data_mut().end_preparing(parameters, Begun::Ready)?;
    Ok(Begun::Ready)
}

impl Guest {
    /// What this new instance does. Waits, with its worker, while another instance makes the image: the worker has no
    /// other work that needs no instance, and must not take jobs from others meanwhile.
    fn begin_with_image(&mut self) -> Result<Beginning, Stop> {
        let registry = self.registry.clone();
        if let Some(beginning) = registry.inputs.prepared.begin() {
            return Ok(beginning);
        }
        self.clock.stop();
        processor::forget();
        let did = registry.grid.begin_doing(Doing::Wait);
        end_turn();
        let beginning = loop {
            registry.inputs.prepared.wait(LOOK);
            if let Err(stop) = self.check() {
                break Err(stop);
            }
            if registry.is_paused() {
                self.stand_still();
                end_turn();
            }
            if let Some(beginning) = registry.inputs.prepared.begin() {
                break Ok(beginning);
            }
        };
        registry.begin_turn(|| self.check().is_err());
        if let Some(did) = did {
            registry.grid.begin_doing(did);
        }
        self.clock.go_on();
        beginning
    }

    /// Values are made from here on; returns the parameters of the job, which come after them.
    fn begin_preparing(&mut self) -> wasmtime::Result<Offered> {
        if self.profile.is_some() {
            self.end_aside();
            self.begin_making()?;
            self.name_making(PREPARED)?;
        }
        Ok(std::mem::replace(&mut self.offered, Offered::nothing()))
    }

    fn end_preparing(&mut self, parameters: Offered, begun: Begun) -> wasmtime::Result<()> {
        self.job.set_preparing(None);
        self.offered = parameters;
        if self.profile.is_some() {
            if begun == Begun::Ready {
                self.end_making()?;
            } else {
                self.end_all_aside();
                self.forget_made();
            }
            self.begin_aside();
        }
        Ok(())
    }

    /// The `image`, if copies of it are cheaper than what it saves, which `took` this long, and if there is room for it.
    fn kept(&self, image: Image, took: Duration) -> Option<Image> {
        let copy = COPY_COST + Duration::from_micros((image.bytes() / COPIED_BYTES_PER_US) as u64);
        if took <= copy {
            return None;
        }
        let Some(memory) = self.registry.room.memory() else { return Some(image) };
        let instances = image.memory_bytes().saturating_mul(self.registry.threads());
        let fits = instances.saturating_add(image.bytes()) <= memory.bytes_max();
        let room = fits.then(|| memory.keep(image.bytes())).flatten();
        if room.is_none() {
            tracing::warn!(
                bytes = image.bytes(),
                took_ms = took.as_millis(),
                "there is no memory for what an app prepares from its inputs: its jobs prepare it again each time"
            );
        }
        Some(image.with_room(room?))
    }

    /// Fails if the guest is preparing values: it must not do `what` then.
    pub fn refuse_while_preparing(&self, what: &str) -> wasmtime::Result<()> {
        let Some(number) = self.job.preparing() else { return Ok(()) };
        let name = self.registry.app.0.preparation.functions.get(number).map_or("", |(name, _)| name);
        Err(broken(
            self,
            format!("it calls `{what}` while it prepares `{name}`, which is made of the run's inputs alone"),
        ))
    }
}
