//! The work of runtimes, as the script says, or on their own until the run is over.

use std::time::Duration;

use sateen_protocol::host::{Notice, Transmit};
use sateen_protocol::message::PeerMessage;
use sateen_protocol_harness::host;

use crate::runtime::State;
use crate::script::process;
use crate::world::{RUN, Wire, World};

pub fn tell(world: &mut World, name: &str, notice: Notice) -> Result<(), String> {
    let now = world.now;
    process(world, name)?.tell(now, host::Input::notice(RUN, notice));
    world.settle();
    Ok(())
}

pub fn open(world: &mut World, name: &str, job: &str) -> Result<(), String> {
    let key = world.names.key(job);
    let notice = process(world, name)?.runtime.open(job, key)?;
    if let Some(notice) = notice {
        if matches!(notice, Notice::Lookup { .. }) {
            world.say(format!("{name} looks {job} up"));
        }
        tell(world, name, notice)?;
    }
    Ok(())
}

/// Runs an open job in place, or looks it up first.
pub fn call(world: &mut World, name: &str, job: &str) -> Result<(), String> {
    let runtime = &mut process(world, name)?.runtime;
    if let Some(lookup) = runtime.ask_first(job) {
        world.say(format!("{name} looks {job} up"));
        return tell(world, name, lookup);
    }
    runtime.call(job).then_some(()).ok_or_else(|| "it is not open there".to_owned())
}

pub fn finish(world: &mut World, name: &str, job: &str, padding: usize) -> Result<(), String> {
    let (value, notice) = process(world, name)?.runtime.finish(job, padding)?;
    *world.executed.entry(job.to_owned()).or_default() += 1;
    world.say(format!("{name} finishes {job} = {value}"));
    notice.map_or(Ok(()), |notice| tell(world, name, notice))
}

/// The spawner of `job`, at `name`, no longer needs it; the answer of the run stays the same.
pub fn abandon(world: &mut World, name: &str, job: &str) -> Result<(), String> {
    let value = jobs(world, job);
    let notice = process(world, name)?.runtime.abandon(job, value)?;
    notice.map_or(Ok(()), |notice| tell(world, name, notice))
}

/// The jobs in the tree of `job`.
fn jobs(world: &World, job: &str) -> u64 {
    let children = world.tree.get(job).into_iter().flatten();
    1 + children.map(|child| jobs(world, child)).sum::<u64>()
}

/// The thief chooses victims at random until it chooses `victim`; all others that it asks refuse.
pub fn steal(world: &mut World, thief: &str, victim: &str) -> Result<(), String> {
    let wanted = process(world, victim)?.host.id().ok_or("the victim has no id")?;
    for _ in 0..1000 {
        let now = world.now;
        let process = process(world, thief)?;
        process.tell(now, host::Input::Idle(RUN, 1));
        let mut is_asked = false;
        let mut others = Vec::new();
        while let Some(transmit) = process.host.poll_transmit() {
            match transmit {
                Transmit::ToPeer(to, PeerMessage::Steal { steal, holding, run, ahead, more }) => {
                    if to == wanted && !is_asked {
                        is_asked = true;
                        others.push((to, PeerMessage::Steal { steal, holding, run, ahead, more }));
                    } else {
                        others.push((to, PeerMessage::Nothing { steal, run }));
                    }
                }
                _ => return Err("the thief had something else to say".to_owned()),
            }
        }
        process.tell(now, host::Input::Idle(RUN, 0));
        let by = process.host.id().ok_or("the thief has no id")?;
        let mut asked = None;
        for (to, message) in others {
            match message {
                PeerMessage::Nothing { .. } => process.tell(now, host::Input::FromPeer(to, message)),
                message => asked = Some(message),
            }
        }
        if let Some(message) = asked {
            let text = crate::messages::peer(&world.names, thief, victim, &message);
            world.send(thief, victim, Wire::Peer(by, wanted, message), Some(text));
            return Ok(());
        }
        world.now = world.now + Duration::from_millis(1);
    }
    Err("the thief never asks the victim".to_owned())
}

/// Maximum steps of a story until its end.
const STEPS_MAX: u32 = 10_000;

/// Every host computes the jobs that it has, alone, until the run is over. The end of a run is the same in all stories,
/// and not shown.
pub fn complete(world: &mut World) -> Result<(), String> {
    world.completes = true;
    let limit = world.now + Duration::from_secs(60);
    let mut steps = 0;
    while !world.is_over {
        steps += 1;
        if world.now > limit || steps > STEPS_MAX {
            return Err("the run does not end".to_owned());
        }
        if !work(world)? {
            world.advance(Duration::from_millis(50));
        }
    }
    world.advance(Duration::from_millis(500));
    world.is_quiet = false;
    Ok(())
}

/// Makes one step at some host. Returns false if none is possible.
fn work(world: &mut World) -> Result<bool, String> {
    let names: Vec<String> = (world.processes.iter())
        .filter(|(_, process)| process.is_alive && !process.is_frozen)
        .map(|(name, _)| name.clone())
        .collect();
    for name in names {
        if let Some((job, child)) = next_step(world, &name) {
            match child {
                Some(child) => open(world, &name, &child)?,
                None => finish(world, &name, &job, 0)?,
            }
            return Ok(true);
        }
        let runtime = &mut process(world, &name)?.runtime;
        if let Some(open) = runtime.newest_open() {
            call(world, &name, &open)?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// A job that runs at `name`, and the child that it opens next, or `None` in its place if the job can be finished.
fn next_step(world: &World, name: &str) -> Option<(String, Option<String>)> {
    let runtime = &world.processes.get(name)?.runtime;
    for task in runtime.tasks.values() {
        for (job, node) in task.nodes.iter().rev() {
            if node.state != State::Runs {
                continue;
            }
            let mut children = world.tree.get(job).into_iter().flatten();
            let missing = children.find(|child| !task.nodes.contains_key(*child));
            if missing.is_some() || runtime.can_finish(job) {
                return Some((job.clone(), missing.cloned()));
            }
        }
    }
    None
}
