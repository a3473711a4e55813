//! Operations of this host's jobs on shared objects, and notifications about them.

use std::sync::Arc;

use sateen_protocol::Bytes;
use sateen_protocol::shared::{ObjectId, Replica};

use super::objects::{Object, Updated};
use super::registry::{Grid, Registry};

impl<G: Grid> Registry<G> {
    /// A job of this host creates an object; if a name is given, keys contain this name instead of its id.
    pub fn create_object(&self, name: Option<ObjectId>, initial: Bytes) -> Arc<Object> {
        let objects = &self.objects;
        let (object, _) = objects.place(objects.unique_id(), Arc::default);
        if let Some(name) = name {
            object.set_name(name);
        }
        object.change(|place| *place = Some(Replica::new(initial)));
        self.grid.create_object(&object);
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
        let (object, is_new) = self.objects.place(id, Arc::default);
        if is_new {
            self.grid.open_object(&object);
        }
        Some(object)
    }

    /// A job of this host updates the object, which has a replica; the job's instance is at `position`. `None`
    /// if too many hosts have updated the object.
    pub fn update_object(&self, object: &Object, position: u64, update: Bytes) -> Option<Updated> {
        let objects = &self.objects;
        let origin = objects.origin();
        let updated = object.change(|place| {
            let replica = place.as_mut()?;
            let before = replica.end();
            let (writer, seq) = replica.append_local(origin, update.clone())?;
            // Before another job can update it: other hosts must get updates in their order.
            if !self.grid.update_object(object, writer, seq, update) {
                // There is no other replica that could miss it.
                replica.set_stable(seq + 1);
            }
            let next = (position == before).then_some(replica.end());
            Some(Updated { next, wants_base: replica.wants_base() })
        });
        // After the replica has the update, so that notified tasks find it there.
        objects.note_change();
        objects.count_update();
        self.wake_for_objects();
        updated
    }

    /// Updates of other hosts to the object, or its replica, have arrived.
    pub fn note_object_changed(&self, id: ObjectId) {
        if let Some(object) = self.objects.find(id) {
            object.change(|_| ());
        }
        self.objects.note_change();
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
