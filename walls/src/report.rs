//! Which walls are up, and why others are not.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that the system keeps a process from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wall {
    /// Limits on memory, descriptors and files in memory; no core dumps.
    Limits,
    /// When memory runs out, the system ends this process before any other.
    FirstOutOfMemory,
    /// A network namespace without any interface. Systems may forbid it; then the filter and Landlock still refuse sockets.
    OwnNetwork,
    /// No capability of the superuser, also if it was started by the superuser.
    NoCapabilities,
    /// No program that is started can have more privileges.
    NoNewPrivileges,
    /// The process is killed when its parent ends.
    DiesWithParent,
    /// Other processes of the same user cannot read its memory, and it leaves no core dump.
    NotDumpable,
    /// Landlock without any path: no file can be opened, and nothing outside can be sent a signal.
    NoFiles,
    /// Only the system calls that computing needs.
    FilteredCalls,
}

/// Whether a wall is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The wall.
    pub wall: Wall,
    /// Why it is not up: a sentence without a full stop, with what the machine lacks. `None` if it is up.
    pub missing: Option<String>,
}

/// Which walls are up around a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    walls: Vec<Standing>,
}

/// Walls that must be up are not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this machine cannot put all walls around a stranger's code: {0}")]
pub struct Incomplete(String);

impl Wall {
    /// All walls, in the order in which they are raised.
    pub const ALL: [Self; 9] = [
        Self::Limits,
        Self::FirstOutOfMemory,
        Self::OwnNetwork,
        Self::NoCapabilities,
        Self::NoNewPrivileges,
        Self::DiesWithParent,
        Self::NotDumpable,
        Self::NoFiles,
        Self::FilteredCalls,
    ];

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Limits => "resource limits",
            Self::FirstOutOfMemory => "first to end when memory runs out",
            Self::OwnNetwork => "empty network of its own",
            Self::NoCapabilities => "no capabilities",
            Self::NoNewPrivileges => "no new privileges",
            Self::DiesWithParent => "ends with the host",
            Self::NotDumpable => "memory closed to other processes",
            Self::NoFiles => "no files",
            Self::FilteredCalls => "filtered system calls",
        }
    }

    /// Whether no other wall refuses the same. The filter refuses sockets as well, so a network of its own, which many
    /// systems forbid, is not essential.
    pub fn is_essential(self) -> bool {
        !matches!(self, Self::OwnNetwork)
    }
}

impl Report {
    /// A report of these walls.
    pub fn new(walls: Vec<Standing>) -> Self {
        Self { walls }
    }

    /// All walls, in the order in which they were raised.
    pub fn walls(&self) -> &[Standing] {
        &self.walls
    }

    /// Whether this wall is up.
    pub fn is_up(&self, wall: Wall) -> bool {
        self.walls.iter().any(|one| one.wall == wall && one.missing.is_none())
    }

    /// Whether all walls are up.
    pub fn is_complete(&self) -> bool {
        Wall::ALL.into_iter().all(|wall| self.is_up(wall))
    }

    /// Checks that all [essential](Wall::is_essential) walls are up.
    ///
    /// # Errors
    /// If one is not, with its name and the reason.
    pub fn require(&self) -> Result<(), Incomplete> {
        let missing = Wall::ALL.into_iter().filter(|wall| wall.is_essential() && !self.is_up(*wall));
        let missing: Vec<String> = missing
            .map(|wall| {
                let standing = self.walls.iter().find(|one| one.wall == wall);
                standing.map_or_else(|| format!("{}: not reported", wall.name()), ToString::to_string)
            })
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(Incomplete(missing.join("; "))) }
    }
}

impl fmt::Display for Standing {
    /// `no files: up`, or the reason instead of `up`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.wall.name(), self.missing.as_deref().unwrap_or("up"))
    }
}

impl fmt::Display for Report {
    /// One line for each wall.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, wall) in self.walls.iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{wall}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(missing: &[Wall]) -> Report {
        let why = |wall| missing.contains(&wall).then(|| "this kernel is too old".to_owned());
        Report::new(Wall::ALL.map(|wall| Standing { wall, missing: why(wall) }).into())
    }

    #[test]
    fn a_wall_that_another_makes_up_for_may_be_missing() {
        assert!(report(&[]).is_complete() && report(&[]).require().is_ok());
        let without = report(&[Wall::OwnNetwork]);
        assert!(!without.is_complete() && !without.is_up(Wall::OwnNetwork));
        assert_eq!(without.require(), Ok(()));
    }

    #[test]
    fn missing_walls_are_named_with_the_reason() {
        let error = report(&[Wall::NoFiles, Wall::OwnNetwork, Wall::FilteredCalls]).require();
        let text = error.expect_err("two are essential").to_string();
        let expected = "this machine cannot put all walls around a stranger's code: no files: this kernel is too old; \
            filtered system calls: this kernel is too old";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_wall_that_is_not_reported_is_not_up() {
        let mut walls = report(&[]).walls;
        walls.retain(|one| one.wall != Wall::NoFiles);
        let report = Report::new(walls);
        assert!(!report.is_complete());
        let text = report.require().expect_err("it is essential").to_string();
        assert!(text.ends_with("no files: not reported"), "{text}");
    }

    #[test]
    fn a_report_crosses_a_channel() {
        let report = report(&[Wall::NoFiles]);
        let text = serde_json::to_string(&report).expect("it can be written");
        assert!(text.contains(r#"{"wall":"no-files","missing":"this kernel is too old"}"#), "{text}");
        assert_eq!(serde_json::from_str::<Report>(&text).expect("it can be read"), report);
        assert!(report.to_string().starts_with("resource limits: up\nfirst to end"), "{report}");
    }
}
