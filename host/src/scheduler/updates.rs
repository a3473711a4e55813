//! Operations of this host's jobs on shared objects, and notifications about them.

use std::sync::Arc;

use sateen_protocol::Bytes;
use sateen_protocol::shared::{Change, ObjectId, View};

use super::objects::{Object, Updated};
use super::registry::{Grid, Registry};

impl<G: Grid> Registry<G> {
    /// A job of this host creates an object; if a name is given, keys contain this name instead of its id.
    pub fn create_object(&self, name: Option<ObjectId>, initial: Bytes) -> Arc<Object> {
        let objects = &self.objects;
        let object = objects.place(objects.unique_id(), |object| {
            object.change(|view| *view = Some(View::new(initial.clone())));
            self.grid.create_object(object, initial);
        });
        if let Some(name) = name {
            object.set_name(name);
        }
        objects.count_created();
        objects.note_change();
        object
    }

    /// The object `id`, to which there is a reference here. In a portion, its replica may have to come from
    /// another host.
    pub fn find_object(&self, id: ObjectId) -> Option<Arc<Object>> {
        if !self.grid.has_hosts() {
            return self.objects.find(id);
        }
        Some(self.objects.place(id, |object| self.grid.open_object(object)))
    }

    /// A job of this host updates the object, which has a replica; the job's instance is at `position`.
    pub fn update_object(&self, object: &Object, position: u64, update: Bytes) -> Option<Updated> {
        let objects = &self.objects;
        let updated = object.change(|view| {
            let view = view.as_mut()?;
            let before = view.end();
            view.append(update.clone());
            // Before another job can update it: the state machine must get updates in their order.
            if !self.grid.update_object(object, update) {
                view.confirm_all();
            }
            let next = (position == before).then_some(view.end());
            Some(Updated { next, wants_base: view.wants_base() })
        });
        // After the view has the update, so that notified tasks find it there.
        objects.note_change();
        objects.count_update();
        self.wake_for_objects();
        updated
    }

    /// Takes the value of an instance at `position` as the new base of the object.
    pub fn set_base(&self, object: &Object, position: u64, base: Bytes) {
        object.change(|view| {
            if let Some(new) = view.as_mut().and_then(|view| view.set_base(position, base)) {
                // The state machine must not get updates that the base lacks before it.
                self.grid.rebase_object(object, new);
            }
        });
    }

    /// Updates of other hosts to the object, or its replica, have arrived for this place of it.
    pub fn change_object(&self, id: ObjectId, place: u64, change: Change) {
        let Some(object) = self.objects.find(id).filter(|object| object.place == place) else { return };
        let was_crowded = object.is_crowded();
        if object.change(|view| View::change(view, change)) {
            self.objects.note_change();
        } else if !was_crowded {
            return;
        }
        self.wake_for_objects();
    }

    /// Wakes all tasks that wait for a change of an object.
    fn wake_for_objects(&self) {
        self.hasten();
        if !self.objects.is_anybody_waiting() {
            return;
        }
        for task in self.objects.waiting() {
            self.tasks.wake(task);
            // This worker may continue with its guest for a long time; waiting tasks should not wait for that.
            self.idle.wake_one();
        }
    }

    /// Called at every beat. Wakes the waiting tasks at regular intervals, to check the time.
    pub fn look_for_objects(&self) {
        if self.objects.is_time_to_look() {
            self.wake_for_objects();
        }
    }
}
