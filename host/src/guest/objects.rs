//! The imports for shared objects.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use sateen_abi::answer;
use sateen_abi::import::MODULE;
use sateen_abi::shared::{ANEW, APPLY, NO_REPLICA, SNAPSHOT, WANTS_SNAPSHOT};
use sateen_protocol::shared::{Catchup, ObjectId};
use wasmtime::{AsContextMut, Caller, Linker};

use super::Guest;
use super::control_words::depth;
use super::guards::{Holding, hold};
use super::memory::{broken, read, write};
use super::news::tell_news;
use super::offered::Offered;
use super::waiting::{in_ms, wait_for_objects};
use crate::failure::Stop;
use crate::limits::LimitExceeded;
use crate::scheduler::{Behind, GuestGrid, Object};

/// Maximum references of one instance at once.
const OPEN_MAX: usize = 64 << 10;
/// Maximum objects that one parameter list, result, value or update may mention.
const MENTIONED_MAX: usize = 64 << 10;

/// The shared objects of one instance.
#[derive(Default)]
pub struct GuestObjects {
    open: Vec<Option<Opened>>,
    free: Vec<u32>,
    /// Objects mentioned in the next value that the guest passes to the host.
    mentioned: Vec<Arc<Object>>,
    /// Objects mentioned in the result last offered to the guest: kept until it has opened them.
    pub offered: Vec<Arc<Object>>,
    /// The last word reported to the guest.
    told: u64,
    /// The guard for which the guest waits.
    pub holding: Option<Holding>,
    /// For each initial value, the number of objects that the root itself has created with it.
    created: HashMap<blake3::Hash, u64>,
}

/// An object to which the guest has a reference.
struct Opened {
    object: Arc<Object>,
    /// The guest has received the updates up to here.
    position: u64,
    /// How many of them it received last.
    given: u32,
}

impl GuestObjects {
    fn add(&mut self, object: Arc<Object>) -> Option<u32> {
        let opened = Some(Opened { object, position: 0, given: 0 });
        if let Some(number) = self.free.pop() {
            self.open[number as usize - 1] = opened;
            return Some(number);
        }
        (self.open.len() < OPEN_MAX).then(|| {
            self.open.push(opened);
            self.open.len() as u32
        })
    }

    fn get(&mut self, number: u32) -> Option<&mut Opened> {
        self.open.get_mut((number as usize).checked_sub(1)?)?.as_mut()
    }

    /// Whether the guest has had no reference to any object.
    pub fn is_unused(&self) -> bool {
        self.open.is_empty()
    }

    /// The objects to which the guest has references.
    pub fn ids(&self) -> Vec<ObjectId> {
        self.open.iter().flatten().map(|opened| opened.object.id).collect()
    }

    /// Returns whether the guest is to be notified of changes: it has references, and their number is not that of the
    /// last notification. Regards this notification as sent.
    pub fn take_news(&mut self, changes: u64) -> bool {
        !self.open.is_empty() && std::mem::replace(&mut self.told, changes) != changes
    }

    /// Takes the objects mentioned since the last call.
    pub fn take_mentioned(&mut self) -> Vec<Arc<Object>> {
        std::mem::take(&mut self.mentioned)
    }
}

pub fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    linker
        .func_wrap(MODULE, "share", share)?
        .func_wrap(MODULE, "open", open)?
        .func_wrap(MODULE, "close", close)?
        .func_wrap(MODULE, "mention", mention)?
        .func_wrap_async(MODULE, "catch_up", |caller, (number,): (u32,)| Box::new(catch_up(caller, number)))?
        .func_wrap_async(
            MODULE,
            "update",
            |caller, (number, update, length, can_apply): (u32, u32, u32, u32)| {
                Box::new(self::update(caller, number, (update, length), can_apply))
            },
        )?
        .func_wrap(MODULE, "snapshot", snapshot)?
        .func_wrap_async(MODULE, "hold", |caller, (name, length): (u32, u32)| {
            Box::new(hold(caller, name, length))
        })?;
    Ok(())
}

fn opened(guest: &mut Guest, number: u32, what: &str) -> wasmtime::Result<(Arc<Object>, u64)> {
    match guest.objects.get(number) {
        Some(opened) => Ok((opened.object.clone(), opened.position)),
        None => Err(broken(
            guest,
            format!("it {what} the shared object number {number}, which it has not opened"),
        )),
    }
}

fn add(guest: &mut Guest, object: Arc<Object>) -> wasmtime::Result<u32> {
    match guest.objects.add(object) {
        Some(number) => Ok(number),
        None => Err(broken(guest, format!("it has more than {OPEN_MAX} shared objects open"))),
    }
}

fn share(mut caller: Caller<'_, Guest>, id: u32, initial: u32, length: u32) -> wasmtime::Result<u32> {
    caller.data().refuse_while_preparing("share")?;
    let limit = caller.data().registry.limits().output_bytes_max;
    let initial = read(&caller, initial, length, limit, "a shared object is")?;
    write(&mut caller, id, &[0; 16])?;
    let is_above_jobs = depth(&caller) == 0;
    let guest = caller.data_mut();
    let registry = guest.registry.clone();
    let name = is_above_jobs.then(|| name_of(guest, &initial)).flatten();
    let object = registry.create_object(name, initial);
    let new_id = object.id;
    registry.objects.keep(guest.objects.take_mentioned());
    registry.objects.check(registry.limits().shared_bytes_max).map_err(wasmtime::Error::new)?;
    let number = add(guest, object)?;
    write(&mut caller, id, &new_id.0)?;
    tell_news(caller.as_context_mut());
    Ok(number)
}

/// Objects that the root itself creates have the same name in keys when the root is redone after a crash. Other
/// jobs may run more than once at a time, and each creates its own objects.
fn name_of(guest: &mut Guest, initial: &[u8]) -> Option<ObjectId> {
    let run_name = guest.registry.grid.keys().filter(|_| guest.job.is_root())?.run_name.clone();
    let count = guest.objects.created.entry(blake3::hash(initial)).or_default();
    *count += 1;
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"sateen shared object 1").update(&run_name).update(&count.to_le_bytes()).update(initial);
    let mut name = [0; 16];
    hasher.finalize_xof().fill(&mut name);
    Some(ObjectId(name))
}

fn open(mut caller: Caller<'_, Guest>, id: u32) -> wasmtime::Result<u32> {
    caller.data().refuse_while_preparing("open")?;
    let bytes = read(&caller, id, 16, 16, "the id of a shared object is")?;
    let guest = caller.data_mut();
    let id = ObjectId(<[u8; 16]>::try_from(&*bytes).unwrap_or_default());
    let Some(object) = guest.registry.find_object(id) else {
        return Err(broken(
            guest,
            format!("it opens the shared object {id}, to which no job has a reference"),
        ));
    };
    let number = add(guest, object)?;
    tell_news(caller.as_context_mut());
    Ok(number)
}

fn close(mut caller: Caller<'_, Guest>, number: u32) -> wasmtime::Result<()> {
    let guest = caller.data_mut();
    opened(guest, number, "closes")?;
    guest.objects.open[number as usize - 1] = None;
    guest.objects.free.push(number);
    Ok(())
}

fn mention(mut caller: Caller<'_, Guest>, number: u32) -> wasmtime::Result<()> {
    let guest = caller.data_mut();
    let (object, _) = opened(guest, number, "mentions")?;
    let mentioned = &mut guest.objects.mentioned;
    if mentioned.iter().any(|known| Arc::ptr_eq(known, &object)) {
        return Ok(());
    }
    if mentioned.len() >= MENTIONED_MAX {
        return Err(broken(guest, format!("it mentions more than {MENTIONED_MAX} shared objects at once")));
    }
    mentioned.push(object);
    Ok(())
}

/// Waits for the first replica, but not for ever: the hosts that had one may be gone.
async fn wait_for_replica(
    guest: &Guest,
    object: &Object,
    look: impl Fn() -> Option<Behind>,
) -> Result<Behind, Stop> {
    let (since, limit) = (Instant::now(), guest.registry.limits().guard_wait_max);
    wait_for_objects(guest, || {
        if let Some(behind) = look() {
            return Some(Ok(behind));
        }
        let waited = since.elapsed();
        let object = object.id.to_string();
        (waited >= limit).then(|| Err(Stop::Limit(LimitExceeded::Replica { object, waited: in_ms(waited) })))
    })
    .await
}

/// The changes of an object since the guest's last call. Waits for the first replica.
async fn catch_up(mut caller: Caller<'_, Guest>, number: u32) -> wasmtime::Result<u64> {
    let guest = caller.data_mut();
    let (object, position) = opened(guest, number, "reads")?;
    let registry = guest.registry.clone();
    let look = || registry.objects.behind(&object, position);
    let Behind { catchup, position, wants_base } = match look() {
        Some(behind) => behind,
        None => {
            guest.clock.stop();
            let waited = wait_for_replica(guest, &object, look).await;
            guest.clock.go_on();
            waited.map_err(wasmtime::Error::new)?
        }
    };
    let guest = caller.data_mut();
    let (anew, given, pieces) = match catchup {
        Catchup::Nothing => return Ok(0),
        Catchup::Updates(updates) => (0, updates.len(), updates),
        Catchup::Whole(base, mut updates) => {
            let given = updates.len();
            updates.insert(0, base);
            (ANEW, given, updates)
        }
    };
    let offered = Offered::Pieces(pieces);
    let length = offered.len();
    let Ok(length) = u32::try_from(length) else {
        let limit = registry.limits().shared_bytes_max;
        return Err(wasmtime::Error::new(Stop::Limit(LimitExceeded::SharedObjects { limit })));
    };
    guest.offered = offered;
    if let Some(opened) = guest.objects.get(number) {
        opened.position = position;
        opened.given = u32::try_from(given).unwrap_or(u32::MAX);
    }
    Ok(answer::with(length, anew | if wants_base { WANTS_SNAPSHOT } else { 0 }))
}

/// Waits while too many updates are in transit to the state machine.
async fn wait_while_crowded(guest: &mut Guest, object: &Object) -> wasmtime::Result<()> {
    guest.clock.stop();
    let waited = wait_for_objects(guest, || (!object.is_crowded()).then_some(Ok(()))).await;
    guest.clock.go_on();
    waited.map_err(wasmtime::Error::new)
}

async fn update(
    mut caller: Caller<'_, Guest>,
    number: u32,
    (update, length): (u32, u32),
    can_apply: u32,
) -> wasmtime::Result<u32> {
    let limit = caller.data().registry.limits().output_bytes_max;
    let update = read(&caller, update, length, limit, "an update of a shared object is")?;
    let guest = caller.data_mut();
    let (object, position) = opened(guest, number, "updates")?;
    let registry = guest.registry.clone();
    // The replica has not arrived yet; the guest waits for it by catching up.
    if !object.has_replica() {
        return Ok(NO_REPLICA);
    }
    if object.is_crowded() {
        wait_while_crowded(guest, &object).await?;
    }
    let Some(updated) = registry.update_object(&object, position, update) else { return Ok(NO_REPLICA) };
    registry.objects.keep(guest.objects.take_mentioned());
    registry.objects.check(registry.limits().shared_bytes_max).map_err(wasmtime::Error::new)?;
    let mut answer = if updated.wants_base { SNAPSHOT } else { 0 };
    if let Some(next) = updated.next.filter(|_| can_apply != 0)
        && let Some(opened) = guest.objects.get(number)
    {
        opened.position = next;
        answer |= APPLY;
        guest.count_applied(number, 1, 0);
    }
    Ok(answer)
}

impl Guest {
    /// In a profile: the guest is about to apply the last `count` updates that it received. Returns how many of these
    /// were already counted, as work of another instance or of this one. `within` is the expected nesting of activities
    /// that do not count (`measure`, moment 7); at a deeper nesting, it counts nothing.
    fn count_applied(&mut self, number: u32, count: u32, within: usize) -> u32 {
        let Some(profile) = &mut self.profile else { return 0 };
        let Some(opened) = self.objects.get(number) else { return 0 };
        // Other instances count updates that do not count here.
        if !profile.aside.is_within(within) {
            return count;
        }
        let begin = opened.position.saturating_sub(count.into());
        let before = opened.object.count_applied(opened.position);
        let first = before.clamp(begin, opened.position);
        if first < opened.position {
            profile.aside.note_applied(&opened.object, first);
        }
        u32::try_from(first - begin).unwrap_or(count)
    }

    /// The guest has caught up with an object, and is about to apply the updates. Returns how many of them others have
    /// applied: these come first and do not count.
    pub fn applied_before(&mut self, number: u32) -> wasmtime::Result<u32> {
        opened(self, number, "applies updates of")?;
        let given = self.objects.get(number).map_or(0, |opened| std::mem::take(&mut opened.given));
        // It reports this while it brings a replica up to date.
        Ok(self.count_applied(number, given, 1))
    }
}

fn snapshot(mut caller: Caller<'_, Guest>, number: u32, value: u32, length: u32) -> wasmtime::Result<()> {
    let limit = caller.data().registry.limits().output_bytes_max;
    let value = read(&caller, value, length, limit, "a shared object is")?;
    let guest = caller.data_mut();
    let (object, position) = opened(guest, number, "gives a snapshot of")?;
    let registry = guest.registry.clone();
    // The objects that it mentions were already mentioned in the data that it was made of.
    registry.objects.keep(guest.objects.take_mentioned());
    registry.set_base(&object, position, value);
    registry.objects.check(registry.limits().shared_bytes_max).map_err(wasmtime::Error::new)
}
