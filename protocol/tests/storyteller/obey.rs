//! Obeys the commands of a host's state machine, and shows them.

use sateen_protocol::host::{Command, RunCommand};
use sateen_protocol::shared::Change;
use sateen_protocol_harness::host;

use crate::entries::list;
use crate::messages;
use crate::world::{RUN, World};

impl World {
    pub fn obey(&mut self, name: &str, command: Command) {
        let Some(process) = self.processes.get_mut(name) else { return };
        match command {
            Command::Load { .. } => {
                let restored = self.disks.get(name).filter(|entries| !entries.is_empty()).cloned();
                process.inputs.extend(restored.map(|entries| host::Input::Restored(RUN, entries)));
                let result = process.unable.clone().map_or(Ok(()), Err);
                process.inputs.push_back(host::Input::Loaded(RUN, result));
            }
            Command::Run { command, .. } => self.obey_in_run(name, command),
            Command::Stop { forget, .. } => {
                process.runtime = Default::default();
                process.inputs.clear();
                process.inputs.push_back(host::Input::Stopped(RUN, None));
                if forget {
                    self.disks.remove(name);
                }
                self.say(format!("{name} drops the run{}", if forget { " and its entries" } else { "" }));
            }
            Command::Save { entry, .. } => {
                let shown = list(&self.names, std::slice::from_ref(&entry));
                let disk = self.disks.entry(name.to_owned()).or_default();
                disk.retain(|known| known.key != entry.key);
                disk.push(entry);
                self.say(format!("{name} saves {shown}"));
            }
            Command::CutOff { peer } => {
                let peer = self.names.host(peer);
                self.say(format!("{name} cuts {peer} off"));
            }
            Command::Reconnect => {
                self.say(format!("{name} dials again"));
                self.hang_up(name);
                self.dial(name);
            }
            Command::Left => {
                self.say(format!("{name} has left"));
                self.end_process(name);
            }
        }
    }

    fn obey_in_run(&mut self, name: &str, command: RunCommand) {
        let Some(process) = self.processes.get_mut(name) else { return };
        let runtime = &mut process.runtime;
        match command {
            RunCommand::Inject { held, spec, .. } => {
                self.names.learn(&spec);
                let opened = runtime.use_objects(&spec);
                process.inputs.extend(opened.iter().map(|object| host::Input::Opened(RUN, *object)));
                runtime.inject(held, self.names.job(&spec.key), spec.clone());
                process.inputs.push_back(host::Input::Idle(RUN, 0));
                let does = if process.is_busy { "has no worker yet for" } else { "runs" };
                if !process.is_busy {
                    process.inputs.push_back(host::Input::Begun(RUN, held));
                }
                let shown = messages::job(&self.names, &spec);
                for object in opened {
                    self.say(format!("{name} opens {}", crate::objects::name(object)));
                }
                self.say(format!("{name} {does} {shown}"));
            }
            RunCommand::Want { thieves } => {
                let before = runtime.exchange.want(thieves);
                let notices = runtime.notices();
                process.inputs.extend(notices.into_iter().map(|notice| host::Input::notice(RUN, notice)));
                if (before == 0) != (thieves == 0) {
                    self.say(format!(
                        "{name} has {} waiting",
                        if thieves == 0 { "no thief" } else { "a thief" }
                    ));
                }
            }
            RunCommand::Offer { more } => {
                let (asked, jobs) = runtime.offer(more);
                let lookups = runtime.notices();
                process.inputs.extend(lookups.into_iter().map(|lookup| host::Input::notice(RUN, lookup)));
                process.inputs.push_back(host::Input::Offered(RUN, jobs));
                for job in asked {
                    self.say(format!("{name} looks {job} up"));
                }
            }
            RunCommand::Complete { number, finished, .. } => {
                let job = runtime.complete(number, &finished).unwrap_or_else(|| "no job".to_owned());
                let result = crate::entries::result(&finished);
                self.say(format!("{name} has {job} {result}"));
            }
            RunCommand::Requeue { number, again } => {
                let spec = runtime.requeue(number, again);
                let notices = runtime.notices();
                process.inputs.extend(notices.into_iter().map(|notice| host::Input::notice(RUN, notice)));
                let shown = spec.map_or("no job".to_owned(), |spec| messages::job(&self.names, &spec));
                self.say(format!("{name} queues {shown}"));
            }
            RunCommand::Lookups { jobs } => {
                let lookups = runtime.exchange.lookups_mut();
                let were_on = lookups.are_on();
                lookups.tell(jobs);
                let wanted = lookups.are_on();
                if were_on != wanted {
                    self.say(format!("{name} looks {}", if wanted { "jobs up" } else { "no more jobs up" }));
                }
            }
            RunCommand::Abort { held } => {
                let Some((job, abandoned)) = runtime.abort(held) else { return };
                process.inputs.extend(abandoned.into_iter().map(|notice| host::Input::notice(RUN, notice)));
                self.say(format!("{name} aborts {job}"));
            }
            // The host's own updates have arrived.
            RunCommand::Replica { change: Change::More { updates, .. }, .. } if updates.is_empty() => {}
            RunCommand::Replica { object, .. } => {
                self.say(format!("{name} has more of {}", crate::objects::name(object)));
            }
            RunCommand::Drain => {
                runtime.exchange.drain();
                let unsaved = runtime.unsaved();
                process.inputs.extend(unsaved.into_iter().map(|notice| host::Input::notice(RUN, notice)));
                process.inputs.push_back(host::Input::Drained(RUN));
                self.say(format!("{name} comes to rest"));
            }
        }
    }
}
