//! Shared objects in stories: each has a name, which is its id and its creation.

use sateen_protocol::Mention;
use sateen_protocol::host::Notice;
use sateen_protocol::limits::SHARED_UNSTABLE_BYTES_MAX;
use sateen_protocol::shared::{ObjectId, Replica};
use sateen_protocol_harness::host;

use crate::script::process;
use crate::work::tell;
use crate::world::{RUN, World};

/// More bytes than a host keeps of objects that it does not use, for hosts that lack its updates.
pub const LARGE_BYTES: usize = SHARED_UNSTABLE_BYTES_MAX + 1;

/// The object with a name of at most 16 letters.
pub fn id(name: &str) -> ObjectId {
    let mut id = [0; 16];
    id.iter_mut().zip(name.bytes()).for_each(|(to, letter)| *to = letter);
    ObjectId(id)
}

/// The name of an object.
pub fn name(object: ObjectId) -> String {
    let letters: Vec<u8> = object.0.into_iter().take_while(|letter| *letter != 0).collect();
    String::from_utf8_lossy(&letters).into_owned()
}

/// A job at `host` creates an object, which all jobs mention that are opened there from now on.
pub fn create(world: &mut World, host: &str, object: &str) -> Result<(), String> {
    let now = world.now;
    let process = process(world, host)?;
    process.runtime.mentions.push(Mention { object: id(object), creation: id(object) });
    process.tell(now, host::Input::Shared(RUN, id(object), vec![].into()));
    process.runtime.objects.insert(id(object));
    Ok(())
}

/// A job at `host` updates an object.
pub fn update(world: &mut World, host: &str, object: &str, bytes: usize) -> Result<(), String> {
    let now = world.now;
    let process = process(world, host)?;
    if !process.runtime.objects.contains(&id(object)) {
        return Err("it does not know the object".to_owned());
    }
    process.host.replica(RUN, id(object)).ok_or("it has no replica")?;
    process.tell(now, host::Input::Updated(RUN, id(object), vec![1; bytes].into()));
    Ok(())
}

/// No job at `host` mentions an object any more.
pub fn drop_object(world: &mut World, host: &str, object: &str) -> Result<(), String> {
    let now = world.now;
    let process = process(world, host)?;
    if !process.runtime.objects.remove(&id(object)) {
        return Err("it does not know the object".to_owned());
    }
    process.tell(now, host::Input::Closed(RUN, id(object)));
    process.runtime.mentions.retain(|mention| mention.creation != id(object));
    Ok(())
}

/// A job at `host` uses an object, which it may have forgotten.
pub fn use_object(world: &mut World, host: &str, object: &str) -> Result<(), String> {
    let now = world.now;
    let process = process(world, host)?;
    process.tell(now, host::Input::Opened(RUN, id(object)));
    process.runtime.objects.insert(id(object));
    Ok(())
}

/// The guard of a job at `host` has waited for long.
pub fn guard(world: &mut World, host: &str, job: &str, object: &str) -> Result<(), String> {
    let held = process(world, host)?.runtime.find(job, |_| true).ok_or("the job is not there")?;
    tell(world, host, Notice::Refetch { object: id(object), held })
}

/// Shows how many updates of each writer each host has.
pub fn show(world: &mut World, object: &str) {
    let shown: Vec<String> = (world.processes.iter())
        .filter(|(_, process)| process.is_alive)
        .map(|(name, process)| match process.host.replica(RUN, id(object)).map(Replica::versions) {
            None => format!("{name} has no {object}"),
            Some(versions) => {
                let counts = crate::messages::counts(&world.names, versions);
                format!("{name} has {object} with{}", if counts.is_empty() { " nothing" } else { &counts })
            }
        })
        .collect();
    shown.into_iter().for_each(|line| world.say(line));
}
