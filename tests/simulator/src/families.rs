//! Families of faults. A seed draws from the given families; a name selects a single one.

use sateen_protocol::Random;

use crate::faults::{ability, disks, ends, evictions, links, pauses, routes, sleep, stalls, versions};
use crate::schedule::Fault;

/// Faults of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Links are reset, and one end notices before the other.
    Links,
    /// Messages pass in one direction only.
    OneWay,
    /// The coordinator's process, or only its logic, stalls.
    Stalls,
    /// Disks are slow, full, lost or rolled back.
    Disks,
    /// A direct path is dead while the relay works.
    Routes,
    /// Messages of peers arrive twice.
    Doubles,
    /// Hosts pause and take work again.
    Pauses,
    /// A host cannot load an app, or cannot continue a run, or a run's guests crash on it.
    Ability,
    /// A run meets a limit, or fails as a whole.
    Ends,
    /// Jobs fail, and their parents catch that.
    Failures,
    /// Hosts sleep for minutes, and their clocks differ.
    Sleep,
    /// More runs than hosts take at once, some of which no host can load for a while.
    Crowds,
    /// Result tables hold almost nothing.
    Tables,
    /// Hosts of other versions of the protocol dial.
    Versions,
    /// Long runs with shared objects and large updates, and hosts that run no jobs for long enough to forget the
    /// objects.
    Objects,
    /// Hosts have no memory for stolen jobs.
    Evictions,
    /// Links with little bandwidth, which break while large results, parameters and objects are being transferred.
    Bandwidth,
    /// Links are away for less than 5 s, and nothing else happens. Never combined with others.
    Blips,
    /// Runs use results of earlier runs.
    Earlier,
}

impl Family {
    /// The families of the default of seeds: all that change nothing of what runs are to compute, and are combined.
    pub const ALL: &[Self] = &[
        Self::Links,
        Self::OneWay,
        Self::Stalls,
        Self::Disks,
        Self::Routes,
        Self::Doubles,
        Self::Pauses,
        Self::Ability,
        Self::Ends,
        Self::Failures,
        Self::Sleep,
        Self::Crowds,
        Self::Tables,
        Self::Versions,
        Self::Objects,
        Self::Evictions,
        Self::Bandwidth,
    ];

    /// States that some seed with its faults must reach.
    pub fn shows(self) -> &'static [&'static str] {
        match self {
            Self::Links => &[
                "a host came back while its old link seemed open",
                "a message was lost with a link that was reset",
            ],
            Self::OneWay => &["a message was stopped that could have gone the other way"],
            Self::Stalls => &["a host hung up on a silent coordinator", "the coordinator stalled"],
            Self::Disks => &[
                "a host started on an old state",
                "the coordinator started on an old state",
                "the disk was full",
                "the disk was slow",
            ],
            Self::Routes => &["the relay was used because a direct path was dead"],
            Self::Doubles => &["a peer message came twice"],
            Self::Pauses => &[
                "a host paused",
                "a host that paused kept its id",
                "a host was to take work again while it came to rest",
                "a paused host took work again",
            ],
            Self::Ability => &[
                "a host could not continue with a run",
                "a host could not load an app",
                "a host reported that it cannot take part",
                "the guests of a run crashed",
            ],
            Self::Ends => &[
                "a job failed beyond catching",
                "a run met a limit",
                "a run's end could not be said at once",
            ],
            Self::Failures => &["a failed job's result travelled"],
            Self::Sleep => &[
                "a clock that was a hundredth off fired a timer",
                "a host woke after a minute or longer",
                "a partition lasted for a minute or longer",
            ],
            Self::Crowds => &[
                "a run gave its place to another submitter",
                "a run gave its turn up while a host was loading it",
                "a run waited for others to end",
            ],
            Self::Tables => &["an entry was evicted"],
            Self::Evictions => &["a stolen job found no room", "a stolen job was evicted"],
            Self::Versions => &[
                "a host of another version was refused",
                "a host joined when it was updated",
                "a refused host was told what to update",
            ],
            Self::Objects => &[
                "a forgotten object was used again",
                "a host had no time for jobs",
                "a host continued its log of updates",
                "a replica was replaced",
            ],
            Self::Earlier => &[
                "a host was lost in a run with results of earlier runs",
                "a job had the result of an earlier run",
                "a run had its result from an earlier run",
            ],
            Self::Blips => {
                &["a host that was given up came back under its id", "a link was reset", "a root was lost"]
            }
            Self::Bandwidth => &[
                "a direct link was reset",
                "a large result was found where the table said",
                "a parcel arrived",
                "a parcel was continued after a link was reset",
                "a parcel was continued by another route",
                "a result was wanted that the table has by location",
                "a root's large result arrived",
                "an entry had a result by location",
                "links were congested",
            ],
        }
    }

    /// States that some of a thousand seeds with its faults must reach.
    pub fn shows_rarely(self) -> &'static [&'static str] {
        match self {
            Self::Disks => &[
                "a host could not save an entry",
                "a host saved late",
                "a host started on a disk that had lost something",
                "the coordinator started on a disk that had lost something",
            ],
            Self::Stalls => {
                &["messages waited for a coordinator that stalled for longer than hosts may be silent"]
            }
            _ => &[],
        }
    }

    /// Whether it is set up before a seed begins.
    pub(crate) fn is_set_up(self) -> bool {
        matches!(
            self,
            Self::Failures
                | Self::Crowds
                | Self::Tables
                | Self::Objects
                | Self::Bandwidth
                | Self::Blips
                | Self::Earlier
        )
    }

    /// Its name on command lines.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// The families with these names, separated by commas; `all` stands for all.
    ///
    /// # Errors
    /// The first unknown name.
    pub fn parse(names: &str) -> Result<Vec<Self>, String> {
        let one = |name: &str| {
            Self::ALL.iter().copied().chain([Self::Blips, Self::Earlier]).find(|family| family.name() == name)
        };
        let mut families = Vec::new();
        for name in names.split(',').filter(|name| !name.is_empty()) {
            match name {
                "all" => families.extend(Self::ALL),
                _ => families.push(one(name).ok_or_else(|| name.to_owned())?),
            }
        }
        Ok(families)
    }

    /// A fault of the family; `None` for those that are set up before a seed begins.
    pub(crate) fn draw(self, number: u32, runs: u64, random: &mut Random) -> Option<Fault> {
        Some(match self {
            Self::Links => Fault::Reset(links::draw(random)),
            Self::OneWay => Fault::OneWay(routes::draw_one_way(number, random)),
            Self::Stalls => Fault::Stall(stalls::draw(random)),
            Self::Disks => Fault::Disk(disks::draw(random)),
            Self::Routes => Fault::DeadPath(routes::draw_dead_path(number, random)),
            Self::Doubles => Fault::Weather(routes::draw_doubles(random)),
            Self::Pauses => Fault::Pause(pauses::draw(random)),
            Self::Ability => Fault::Unable(ability::draw(runs, random)),
            Self::Ends => Fault::End(ends::draw(runs, random)),
            Self::Sleep => Fault::Sleep(sleep::draw(number, random)),
            Self::Evictions => Fault::Eviction(evictions::draw(random)),
            Self::Versions => versions::draw(random),
            Self::Failures
            | Self::Crowds
            | Self::Tables
            | Self::Objects
            | Self::Bandwidth
            | Self::Blips
            | Self::Earlier => return None,
        })
    }
}
