//! The command line, parsed into plain values.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand};
use sateen_command_line as values;
use sateen_host::grid::{CoordinatorAddress, DataFolder, DirectListen, PageListen};
use sateen_logging::LogFlags;
use sateen_protocol::RunLimits;
use sateen_protocol::limits::TEXT_BYTES_MAX;

use super::enrol::KeyFlags;
use super::key::Key;
use super::preference_flags::PreferenceFlags;
use super::priority::PriorityFlag;
use super::say::{USAGE, fail, result};
use super::service::Service;

/// Give this machine's cores to a grid. Without a command, takes part in the grid until `sateen-host leave` or
/// Ctrl-C.
#[derive(Parser)]
#[command(name = "sateen-host", version, args_conflicts_with_subcommands = false)]
struct SateenHost {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    host: Host,
}

#[derive(Subcommand)]
pub enum Command {
    #[command(flatten)]
    Ask(Ask),
    /// Compute jobs with known answers on this machine, and compare; exits with 5 if one is wrong
    SelfTest {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Agree that this machine computes for a grid while nobody uses it, and begin
    Join(Box<Join>),
    /// Show and change the preferences of this machine's owner
    #[command(subcommand)]
    Config(Config),
    /// Show or replace the key by which coordinators and other hosts know this host
    #[command(subcommand)]
    Key(Key),
    /// Have the system start the host with its user
    #[command(subcommand)]
    Service(Service),
    #[command(flatten)]
    Generate(values::Generate),
}

/// Commands to the host that runs on this machine.
#[derive(Subcommand)]
pub enum Ask {
    /// Show the status of the host on this machine
    Status {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Give back the work and take none for a time, or until `resume`
    Pause {
        /// How long, like 90s, 30m or 2h [default: until `resume`] [range: 1s to 365d]
        #[arg(value_name = "TIME", value_parser = parse_pause)]
        time: Option<Duration>,
    },
    /// Take work again
    Resume,
    /// Hand over the work, leave the grid and exit
    Leave,
}

#[derive(Args)]
#[command(mut_arg("coordinator", |flag| flag.hide(true)))] // URL counts
pub struct Join {
    /// The grid's coordinator: a URL, or HOST:PORT
    #[arg(value_name = "URL", value_parser = parse_coordinator)]
    pub url: CoordinatorAddress,
    /// Keep the consent, and do not begin now
    #[arg(long)]
    pub no_start: bool,
    #[command(flatten)]
    pub host: Host,
}

#[derive(Subcommand)]
pub enum Config {
    /// Show all preferences, and where each value comes from
    Show {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print the path of the file of preferences
    Path,
    /// Set a preference in the file; a host that runs reads it at once, except for those of threads, memory, disk and walls
    Set {
        /// The preference, as `config show` names it
        #[arg(value_name = "KEY")]
        key: String,
        /// Its value; without one, the default counts again
        #[arg(value_name = "VALUE", allow_hyphen_values = true)]
        value: Option<String>,
    },
}

#[derive(Args)]
pub struct Host {
    /// The grid's coordinator: a URL, or HOST:PORT [default: the one that was joined, else http://127.0.0.1:7700]
    #[arg(long, value_name = "URL", env = "SATEEN_COORDINATOR", value_parser = parse_coordinator)]
    pub coordinator: Option<CoordinatorAddress>,
    /// The host's site; hosts of one site are close to one another, and steal from one
    /// another first
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = parse_name)]
    pub site: String,
    /// The host's name, for people [default: the machine's name]
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub name: Option<String>,
    /// Number of workers, shared by all runs [default: one for each core] [range: 1 to 1024]
    #[arg(long, short, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<usize>,
    /// Priority of the workers over other programs of this machine
    #[arg(long, value_enum, default_value_t = PriorityFlag::Idle)]
    pub priority: PriorityFlag,
    /// The host's data folder; each host on a machine needs one of its own [default: `sateen/host` in the user's folder
    /// for data]
    #[arg(long, value_name = "DIR", global = true)]
    pub data_dir: Option<PathBuf>,
    /// The address at which hosts of the same site reach this one directly, or `off` [default: any free port of the
    /// interface towards the coordinator]
    #[arg(long, value_name = "ADDR:PORT|off", value_parser = parse_direct)]
    pub direct: Option<DirectListen>,
    /// The address that hosts of the same site dial instead, if a port is forwarded to that of `--direct`; the
    /// coordinator passes it on only if it sees this host connect from there [default: that of --direct]
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_address)]
    pub direct_advertise: Option<SocketAddr>,
    /// Memory for the apps of all runs and for results that wait to be delivered, together; runs that ask for more for one
    /// instance are refused [default: 2G; no limit with --dedicated] [range: 64K to 1024T]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Processor time for one run, like 90s, 30m or 2h; after that, other hosts continue the run [default: no limit]
    /// [range: 1ms to 365d]
    #[arg(long, value_name = "TIME", value_parser = parse_work)]
    pub run_cpu_limit: Option<Duration>,
    /// The loopback address of this host's own page, or `off`; port 0 stands for any free one
    #[arg(long, value_name = "ADDR:PORT|off", default_value = "127.0.0.1:0", value_parser = parse_page)]
    pub page: PageListen,
    #[command(flatten)]
    pub key: KeyFlags,
    #[command(flatten)]
    pub agreement: Agreement,
    #[command(flatten)]
    pub preferences: PreferenceFlags,
    #[command(flatten)]
    pub log: LogFlags,
}

/// How the machine's owner agrees.
#[derive(Args)]
pub struct Agreement {
    /// Agree to what the host may use of this machine, without being asked
    #[arg(long, short)]
    pub yes: bool,
    /// This machine is for the grid: compute all the time, unless preferences say otherwise. The default for a coordinator
    /// on this machine, until it is joined
    #[arg(long, env = "SATEEN_DEDICATED")]
    pub dedicated: bool,
    /// A folder whose dev, proc and sys stand for those of the machine
    #[arg(long, value_name = "DIR", hide = true)]
    pub machine: Option<PathBuf>,
}

impl Host {
    /// The address at which hosts of the same site reach this host.
    ///
    /// # Errors
    /// If there is an address for others to dial, but none to listen on.
    pub fn direct(&self) -> Result<DirectListen, String> {
        match (self.direct.unwrap_or_default(), self.direct_advertise) {
            (DirectListen::At(listen), Some(advertised)) => {
                Ok(DirectListen::Forwarded { listen, advertised })
            }
            (_, Some(_)) => Err("--direct-advertise needs --direct ADDRESS:PORT".to_owned()),
            (direct, None) => Ok(direct),
        }
    }

    /// The folder given by the flag, or this user's default folder.
    pub fn data_folder(&self) -> Option<PathBuf> {
        self.data_dir.clone().or_else(DataFolder::default_path)
    }
}

/// The program with all its flags, from which help, man pages and completions are generated.
pub fn program() -> clap::Command {
    SateenHost::command()
}

/// The command and the flags, or the exit code after help or an error was printed.
pub fn parse() -> Result<(Option<Command>, Host), ExitCode> {
    let parsed = values::parsed::<SateenHost>(std::env::args_os()).map(|parsed| match &parsed.command {
        Some(Command::Join(_)) => with_flags_of_join(std::env::args_os().collect()).unwrap_or(parsed),
        _ => parsed,
    });
    match parsed {
        Ok(parsed) => Ok((parsed.command, parsed.host)),
        Err(error) if error.use_stderr() => {
            let words: Vec<_> = std::env::args_os().skip(1).collect();
            Err(fail(USAGE, values::one_line(&error, &SateenHost::command(), &words)))
        }
        Err(help) => {
            result(help.render().to_string().trim_end());
            Err(ExitCode::SUCCESS)
        }
    }
}

/// `join` has all flags of a host: those before it on the command line count as those after it.
fn with_flags_of_join(words: Vec<OsString>) -> Option<SateenHost> {
    let places = (1..words.len()).filter(|place| words[*place] == "join");
    places
        .filter_map(|place| {
            let mut words = words.clone();
            let join = words.remove(place);
            words.insert(1, join);
            values::parsed(words).ok()
        })
        .next()
}

fn parse_coordinator(text: &str) -> Result<CoordinatorAddress, String> {
    CoordinatorAddress::parse(text).map_err(|error| error.to_string())
}

fn parse_name(text: &str) -> Result<String, String> {
    values::name(text, TEXT_BYTES_MAX)
}

fn parse_direct(text: &str) -> Result<DirectListen, String> {
    if text == "off" {
        return Ok(DirectListen::Off);
    }
    let address = values::socket_address(text).map_err(|why| format!("{why}; or `off`"))?;
    Ok(DirectListen::At(address))
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    values::socket_address(text)
}

fn parse_page(text: &str) -> Result<PageListen, String> {
    if text == "off" {
        return Ok(PageListen::Off);
    }
    let address = values::socket_address(text).map_err(|why| format!("{why}; or `off`"))?;
    if address.ip().is_loopback() {
        Ok(PageListen::At(address))
    } else {
        Err("the page is for this machine's user alone; give a loopback address, like 127.0.0.1:7710"
            .to_owned())
    }
}

fn parse_threads(text: &str) -> Result<usize, String> {
    values::number(text, 1..=1024).map(|threads| threads as usize)
}

fn parse_size(text: &str) -> Result<u64, String> {
    /// More than any machine has.
    const MEMORY_BYTES_MAX: u64 = 1 << 50;
    values::size(text, *RunLimits::INSTANCE_BYTES.start()..=MEMORY_BYTES_MAX)
}

const YEAR_MS: u64 = 365 * 24 * 3_600_000;

fn parse_pause(text: &str) -> Result<Duration, String> {
    values::time(text, 1000..=YEAR_MS)
}

fn parse_work(text: &str) -> Result<Duration, String> {
    values::time(text, 1..=YEAR_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        SateenHost::command().debug_assert();
    }

    #[test]
    fn flags_are_read() {
        let words =
            ["sateen-host", "--coordinator", "grid:80", "--direct", "off", "--memory", "2G", "-t", "3"];
        let parsed = SateenHost::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        assert!(parsed.command.is_none());
        assert_eq!(parsed.host.coordinator.expect("given").authority(), "grid:80");
        assert_eq!(parsed.host.direct, Some(DirectListen::Off));
        assert_eq!((parsed.host.memory, parsed.host.threads), (Some(2 << 30), Some(3)));
        let words = ["sateen-host", "--direct", "0.0.0.0:7", "--direct-advertise", "192.0.2.1:8"];
        let parsed = SateenHost::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        let (listen, advertised) = ("0.0.0.0:7".parse().expect("one"), "192.0.2.1:8".parse().expect("one"));
        assert_eq!(parsed.host.direct(), Ok(DirectListen::Forwarded { listen, advertised }));
        for words in [
            ["--direct-advertise", "192.0.2.1:8"].as_slice(),
            &["--direct", "off", "--direct-advertise", "192.0.2.1:8"],
        ] {
            let parsed = SateenHost::try_parse_from([&["sateen-host"], words].concat());
            let direct = parsed.unwrap_or_else(|error| panic!("{error}")).host.direct();
            assert!(direct.is_err_and(|error| error.contains("--direct ADDRESS:PORT")));
        }
        let words = ["sateen-host", "pause", "1.5h", "--data-dir", "x"];
        let parsed = SateenHost::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        assert!(
            matches!(parsed.command, Some(Command::Ask(Ask::Pause { time: Some(time) })) if time.as_secs() == 5400)
        );
        assert_eq!(parsed.host.data_dir, Some(PathBuf::from("x")));
    }

    #[test]
    fn a_host_that_joins_has_the_flags_on_both_sides() {
        let words =
            ["sateen-host", "--name", "join", "-t", "3", "join", "--share-in-use", "10", "grid:80", "--yes"];
        let parsed = with_flags_of_join(words.map(Into::into).to_vec()).expect("it is right");
        let Some(Command::Join(join)) = parsed.command else { panic!("it joins") };
        assert_eq!((join.url.authority(), join.host.threads), ("grid:80", Some(3)));
        assert_eq!((join.host.name.as_deref(), join.host.agreement.yes), (Some("join"), true));
        assert_eq!(join.host.preferences.0, [("share-in-use".to_owned(), "10".to_owned())]);
    }

    #[test]
    fn the_help_of_join_names_one_coordinator() {
        let help = |words: &[&str]| SateenHost::try_parse_from(words).err().expect("help").to_string();
        let join = help(&["sateen-host", "join", "--help"]);
        assert!(join.contains("<URL>") && join.contains("--site <NAME>"), "{join}");
        assert!(!join.contains("--coordinator"), "{join}");
        assert!(help(&["sateen-host", "--help"]).contains("--coordinator <URL>"));
    }

    #[test]
    fn errors_are_one_line_and_name_the_flag() {
        for words in [
            &["--threads", "0"][..],
            &["--coordinator", "ftp://grid"],
            &["--direct", "somewhere"],
            &["--direct", "127.0.0.1:1", "--direct-advertise", "elsewhere"],
            &["--page", "somewhere"],
            &["--page", "0.0.0.0:80"],
            &["--log-level", "loud"],
            &["--site", ""],
            &["--memory", "much"],
            &["pause", "soon"],
            &["--run-cpu-limit", "0"],
            &["stauts"],
            &["--share-in-use", "101"],
            &["--on-battery", "sometimes"],
            &["join", "ftp://x"],
            &["join", "grid", "--hours", "never-mind"],
            &["service", "show", "--system", "beos"],
        ] {
            let error = SateenHost::try_parse_from([&["sateen-host"], words].concat()).err();
            let line = values::one_line(&error.expect("it is wrong"), &SateenHost::command(), words);
            assert!(
                !line.contains('\n') && line.contains(words[words.len() - 1].trim_matches('"')),
                "{line}"
            );
        }
    }
}
