//! Runs scripts line by line; `protocol/tests/stories/README.md` lists the possible lines.

use std::path::Path;
use std::time::Duration;

use sateen_protocol::coordinator::Circle;
use sateen_protocol::host::Notice;
use sateen_protocol::limits::CIRCLE;
use sateen_protocol::message::{LogLine, PeerMessage};
use sateen_protocol::{FaultTolerance, JobFailure};
use sateen_protocol_harness::{coordinator, host};

use crate::names::ROOT;
use crate::objects::{LARGE_BYTES, create, drop_object, guard, show, update, use_object};
use crate::seeds::Seeds;
use crate::work::{abandon, call, complete, finish, open, steal, tell};
use crate::world::{COORDINATOR, RUN, Wire, World};

/// Plays the script in `text`. Returns it with its output, and the inputs of the state machines. Lines with a word in
/// capitals, such as `CANNOT`, belong to a story that has gone wrong.
pub fn play(text: &str, folder: &Path) -> (String, Seeds) {
    let mut world = World::new();
    let mut output = String::new();
    for line in text.lines().filter(|line| !line.starts_with('>')) {
        output += line;
        output.push('\n');
        let command = line.split('#').next().unwrap_or_default().trim();
        if let Err(reason) = run_line(&mut world, command, folder) {
            world.lines.push(format!("CANNOT: {reason}"));
        }
        for line in world.lines.drain(..) {
            output += &format!("> {line}\n");
        }
    }
    let names: Vec<String> = world.processes.keys().cloned().collect();
    names.iter().for_each(|name| world.keep_record(name));
    world.stop_coordinator();
    (output, world.seeds)
}

fn run_line(world: &mut World, line: &str, folder: &Path) -> Result<(), String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        [] => return Ok(()),
        ["include", name] => {
            let path = folder.join("include").join(format!("{name}.txt"));
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let was_quiet = std::mem::replace(&mut world.is_quiet, true);
            for line in text.lines() {
                run_line(world, line.split('#').next().unwrap_or_default().trim(), folder)?;
            }
            world.is_quiet = was_quiet;
        }
        ["tolerance", name] => {
            world.fault_tolerance = match *name {
                "full" => FaultTolerance::Full,
                "finished-orphans" => FaultTolerance::FinishedOrphans,
                "redo-only" => FaultTolerance::RedoOnly,
                _ => return Err("no such fault tolerance".to_owned()),
            };
        }
        ["circle", others] => {
            let others: usize = others.parse().map_err(|_| "not a number")?;
            world.circle =
                Circle { near_all: 0, near_drawn: 2 * others, far_all: 0, far_drawn: 2 * others, ..CIRCLE };
        }
        ["tree", parent, children @ ..] => {
            let children = children.iter().map(|child| format!("{parent}.{child}")).collect();
            world.tree.insert((*parent).to_owned(), children);
        }
        _ => who_is_there(world, &words)?,
    }
    world.settle();
    Ok(())
}

fn who_is_there(world: &mut World, words: &[&str]) -> Result<(), String> {
    let now = world.now;
    match words {
        ["coordinator"] => world.start_coordinator(false),
        ["restart", COORDINATOR] => world.start_coordinator(true),
        ["crash", names @ ..] => names.iter().for_each(|name| match *name {
            COORDINATOR => world.stop_coordinator(),
            name => world.kill(name),
        }),
        ["host", name, site] => world.start_host(name, site),
        ["host", name, site, "unable", reason @ ..] => {
            world.start_host(name, site);
            process(world, name)?.unable = Some(reason.join(" "));
        }
        ["cut", names @ ..] => names.iter().for_each(|name| world.hang_up(name)),
        ["reconnect", names @ ..] => names.iter().for_each(|name| world.dial(name)),
        ["unreachable", peer, "for", name] => {
            let peer = world.names.id(peer).ok_or("no host of that name")?;
            process(world, name)?.tell(now, host::Input::PeerLost(peer));
        }
        ["reroute", name, peer] => {
            let peer = world.names.id(peer).ok_or("no host of that name")?;
            process(world, name)?.tell(now, host::Input::RouteLost(peer));
        }
        ["freeze", name] => process(world, name)?.is_frozen = true,
        ["thaw", name] => {
            process(world, name)?.is_frozen = false;
            let process = process(world, name)?;
            if process.host.poll_timeout().is_some_and(|(time, _)| time <= now) {
                process.tell(now, host::Input::Timeout);
            }
        }
        ["busy", name] => process(world, name)?.is_busy = true,
        ["leave", name] => process(world, name)?.tell(now, host::Input::Leave),
        ["pause", name] => {
            process(world, name)?.tell(now, host::Input::Pause(Some("the user works".to_owned())));
        }
        ["unpause", name] => process(world, name)?.tell(now, host::Input::Pause(None)),
        ["halt", name] => {
            process(world, name)?.tell(now, host::Input::Hold(Some("the user types".to_owned())));
        }
        ["unhalt", name] => process(world, name)?.tell(now, host::Input::Hold(None)),
        ["submit"] => world.submit(),
        ["suspend" | "resume" | "cancel"] => {
            let server = world.coordinator.as_mut().ok_or("there is no coordinator")?;
            let input = match words[0] {
                "suspend" => coordinator::Input::Suspend(RUN),
                "resume" => coordinator::Input::Resume(RUN),
                _ => coordinator::Input::Cancel(RUN),
            };
            if let Err(error) = server.tell(now, input) {
                world.say(format!("C {error}"));
            }
        }
        ["status"] => status(world),
        _ => on_the_way(world, words)?,
    }
    Ok(())
}

fn on_the_way(world: &mut World, words: &[&str]) -> Result<(), String> {
    match words {
        ["advance", time] => world.advance(duration(time)?),
        ["hold" | "release", ways @ ..] => {
            for way in ways {
                let ends = ends(way)?;
                let _ = if words[0] == "hold" { world.held.insert(ends) } else { world.held.remove(&ends) };
            }
        }
        ["isolate", name] => world.held.extend([(*name, "*"), ("*", *name)].map(owned)),
        ["heal", name] => {
            world.held.remove(&owned((*name, "*")));
            world.held.remove(&owned(("*", *name)));
        }
        ["deliver" | "drop" | "duplicate", way] => {
            let (from, to) = ends(way)?;
            let index = (world.wires.iter())
                .position(|envelope| envelope.from == from && envelope.to == to && !envelope.text.is_empty())
                .ok_or("nothing is on that way")?;
            let envelope = world.wires.remove(index).ok_or("nothing is on that way")?;
            let text = envelope.text.clone();
            match words[0] {
                "drop" => world.say(format!("   (lost: {text})")),
                "deliver" => {
                    world.say(format!("   (arrives: {text})"));
                    world.arrive(envelope);
                }
                _ => {
                    let Wire::Peer(by, receiver, message) = &envelope.wire else {
                        return Err("only peers' messages can come twice".to_owned());
                    };
                    let (by, receiver, message): (_, _, PeerMessage) = (*by, *receiver, message.clone());
                    world.say(format!("   (arrives twice: {text})"));
                    world.arrive(envelope);
                    world.settle();
                    for process in world.processes.values_mut() {
                        if process.host.id() == Some(receiver) {
                            process.tell(world.now, host::Input::FromPeer(by, message.clone()));
                        }
                    }
                }
            }
        }
        ["forge", way, what @ ..] => {
            let (from, to) = ends(way)?;
            world.forge(&from, &to, what)?;
        }
        _ => at_work(world, words)?,
    }
    Ok(())
}

fn at_work(world: &mut World, words: &[&str]) -> Result<(), String> {
    match words {
        ["steal", thief, "from", victim] => steal(world, thief, victim)?,
        ["open", name, jobs @ ..] => jobs.iter().try_for_each(|job| open(world, name, job))?,
        ["call", name, job] => call(world, name, job)?,
        ["abandon", name, job] => abandon(world, name, job)?,
        ["finish", name, job] => finish(world, name, job, 0)?,
        ["finish", name, job, "large"] => finish(world, name, job, 5000)?,
        ["finish", name, job, "huge"] => finish(world, name, job, 200_000)?,
        ["evict", name, job] => {
            let notices = process(world, name)?.runtime.evict(job)?;
            notices.into_iter().try_for_each(|notice| tell(world, name, notice))?;
        }
        ["record", name] => {
            let unsaved = process(world, name)?.runtime.unsaved();
            unsaved.into_iter().try_for_each(|notice| tell(world, name, notice))?;
        }
        ["log", name, lines] => {
            let lines: u32 = lines.parse().map_err(|_| "a number, please")?;
            for line in 0..lines {
                let (function, text) = ("main".to_owned(), format!("line {line}"));
                tell(world, name, Notice::Log(LogLine { job: None, function, text }))?;
            }
        }
        ["limit", name, reason @ ..] => tell(world, name, Notice::Limit(reason.join(" ")))?,
        ["fail", name, message @ ..] => {
            let (job, message) = ("main".to_owned(), message.join(" "));
            tell(world, name, Notice::Failed(JobFailure { job, message, backtrace: Vec::new() }))?;
        }
        ["unable", name, reason @ ..] => tell(world, name, Notice::Unable(reason.join(" ")))?,
        ["create", name, object] => create(world, name, object)?,
        ["update", name, object] => update(world, name, object, 1)?,
        ["update", name, object, "large"] => update(world, name, object, LARGE_BYTES)?,
        ["drop", way, "all"] => {
            let (from, to) = ends(way)?;
            let before = world.wires.len();
            world.wires.retain(|envelope| envelope.from != from || envelope.to != to);
            let lost = before - world.wires.len();
            world.say(format!("   ({lost} messages are lost)"));
        }
        ["drop", name, object] => drop_object(world, name, object)?,
        ["use", name, object] => use_object(world, name, object)?,
        ["guard", name, job, object] => guard(world, name, job, object)?,
        ["show", object] => show(world, object),
        ["complete"] => complete(world)?,
        _ => return Err("no such line".to_owned()),
    }
    Ok(())
}

pub fn process<'a>(world: &'a mut World, name: &str) -> Result<&'a mut crate::world::Process, String> {
    world.processes.get_mut(name).ok_or_else(|| format!("there is no host {name}"))
}

fn status(world: &mut World) {
    let Some(view) = world.coordinator.as_ref().and_then(|server| server.machine.run(RUN)) else {
        return world.say("C has no such run");
    };
    let waiting = view.waiting_for.as_ref().map(|reason| format!(", waits: {reason}")).unwrap_or_default();
    let root = view.root_host().map_or("no host".to_owned(), |host| world.names.host(host));
    let counts = view.counts();
    world.say(format!(
        "C has the run as {:?}, {ROOT} at {root}, lost {} times; stolen {}, lost {}, reused {}, adopted {}{waiting}",
        view.state(), view.root_losses(), counts.jobs.stolen, counts.jobs.lost, counts.jobs.reused, counts.jobs.adopted
    ));
}

fn owned((from, to): (&str, &str)) -> (String, String) {
    (from.to_owned(), to.to_owned())
}

fn ends(way: &str) -> Result<(String, String), String> {
    way.split_once('→').map(owned).ok_or_else(|| format!("`{way}` is not a route; write A→B"))
}

fn duration(text: &str) -> Result<Duration, String> {
    let number = |digits: &str| digits.parse::<u64>().map_err(|_| format!("`{text}` is not a time"));
    match text.strip_suffix("ms") {
        Some(digits) => number(digits).map(Duration::from_millis),
        None => number(text.trim_end_matches('s')).map(Duration::from_secs),
    }
}
