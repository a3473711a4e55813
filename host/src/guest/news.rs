//! Notifying a guest that a shared object has changed.

use wasmtime::StoreContextMut;

use super::Guest;
use super::control_words::write_news;

/// Notifies the guest that an object has changed, if that is news.
pub fn tell_news(mut store: StoreContextMut<'_, Guest>) {
    let guest = store.data_mut();
    let changes = guest.registry.objects.changes();
    if guest.objects.take_news(changes) {
        // The guest's word is never 0, and differs after every change.
        write_news(store, (changes as u32).wrapping_shl(1) | 1);
    }
}
