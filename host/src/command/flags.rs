//! The command line, parsed into plain values.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use sateen_host::Priority;
use sateen_host::grid::{CoordinatorAddress, DataFolder, DirectListen, PageListen};
use sateen_log::LogFlags;
use sateen_protocol::RunLimits;
use sateen_protocol::limits::TEXT_BYTES_MAX;

use super::say::{USAGE, fail, result};

/// Give this machine's cores to a grid. Without a command, takes part until it is told to leave.
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
    /// Say how the host on this machine is
    Status {
        /// One JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Give back the work and take none, until `resume` or for a time
    Pause {
        /// For so long, as 90s, 30m or 2h, at most a year
        #[arg(value_name = "TIME", value_parser = parse_duration)]
        time: Option<Duration>,
    },
    /// Take work again
    Resume,
    /// Hand over the work and end
    Leave,
}

#[derive(Args)]
pub struct Host {
    /// The grid's coordinator
    #[arg(long, value_name = "URL", env = "SATEEN_COORDINATOR", default_value = "http://127.0.0.1:7700", value_parser = parse_coordinator)]
    pub coordinator: CoordinatorAddress,
    /// Hosts of one site are near one another
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = parse_name)]
    pub site: String,
    /// What people call this host, if not by the machine's name
    #[arg(long, value_parser = parse_name)]
    pub name: Option<String>,
    /// Workers, if not one for each core
    #[arg(long, short, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<usize>,
    /// What the workers may take of this machine
    #[arg(long, value_enum, default_value_t = PriorityFlag::Idle)]
    pub priority: PriorityFlag,
    /// Where the host keeps what must survive it; each host needs a folder of its own
    #[arg(long, value_name = "DIR", global = true)]
    pub data_dir: Option<PathBuf>,
    /// Where hosts of its site reach this one: an address, or `off`; otherwise any port of the interface
    /// towards the coordinator
    #[arg(long, value_name = "ADDR:PORT|off", value_parser = parse_direct)]
    pub direct: Option<DirectListen>,
    /// The address that hosts of its site dial instead of that of `--direct`, where a port is forwarded; the
    /// coordinator passes on only an address from which it sees this host come
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_address)]
    pub direct_advertise: Option<SocketAddr>,
    /// What the guests of all runs, and results that wait to be delivered, may take together, 64K or more; runs that ask for
    /// more for one instance are refused
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Maximum processor time that this host gives to one run, as 90s, 30m or 2h; others continue the run [default:
    /// none]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub run_cpu_limit: Option<Duration>,
    /// Where this host's own page is: a loopback address, whose port 0 is any free one, or `off`
    #[arg(long, value_name = "ADDR:PORT|off", default_value = "127.0.0.1:0", value_parser = parse_page)]
    pub page: PageListen,
    #[command(flatten)]
    pub log: LogFlags,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum PriorityFlag {
    /// Only what no other program wants
    Idle,
    /// As much as any other program
    Normal,
}

impl From<PriorityFlag> for Priority {
    fn from(flag: PriorityFlag) -> Self {
        match flag {
            PriorityFlag::Idle => Self::Idle,
            PriorityFlag::Normal => Self::Normal,
        }
    }
}

impl Host {
    /// Where hosts of its site reach it.
    ///
    /// # Errors
    /// When there is an address for others to dial and none to listen at.
    pub fn direct(&self) -> Result<DirectListen, String> {
        match (self.direct.unwrap_or_default(), self.direct_advertise) {
            (DirectListen::At(listen), Some(advertised)) => {
                Ok(DirectListen::Forwarded { listen, advertised })
            }
            (_, Some(_)) => Err("--direct-advertise needs --direct ADDRESS:PORT".to_owned()),
            (direct, None) => Ok(direct),
        }
    }

    /// The folder that is named, or this user's.
    pub fn data_folder(&self) -> Option<PathBuf> {
        self.data_dir.clone().or_else(DataFolder::default_path)
    }
}

/// The command and the flags, or the exit code after help was shown or an error said.
pub fn parse() -> Result<(Option<Command>, Host), ExitCode> {
    match SateenHost::try_parse() {
        Ok(parsed) => Ok((parsed.command, parsed.host)),
        Err(error) if error.use_stderr() => Err(fail(USAGE, one_line(&error))),
        Err(help) => {
            result(help.render().to_string().trim_end());
            Err(ExitCode::SUCCESS)
        }
    }
}

/// clap's message without its decoration, tips and usage.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines().take_while(|line| !line.trim().is_empty());
    let mut line = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    for more in lines {
        line.push(' ');
        line.push_str(more.trim());
    }
    line.push_str("; see `sateen-host --help`");
    line
}

fn parse_coordinator(text: &str) -> Result<CoordinatorAddress, String> {
    CoordinatorAddress::parse(text).map_err(|error| error.to_string())
}

fn parse_name(text: &str) -> Result<String, String> {
    let is_fine = !text.is_empty() && text.len() <= TEXT_BYTES_MAX && !text.contains(char::is_control);
    if is_fine {
        Ok(text.to_owned())
    } else {
        Err(format!("a name has 1 to {TEXT_BYTES_MAX} bytes on one line"))
    }
}

fn parse_direct(text: &str) -> Result<DirectListen, String> {
    if text == "off" {
        return Ok(DirectListen::Off);
    }
    let address: SocketAddr = text.parse().map_err(|_| "ADDRESS:PORT or `off` is expected")?;
    Ok(DirectListen::At(address))
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "ADDRESS:PORT is expected".to_owned())
}

fn parse_page(text: &str) -> Result<PageListen, String> {
    if text == "off" {
        return Ok(PageListen::Off);
    }
    let address: SocketAddr = text.parse().map_err(|_| "ADDRESS:PORT or `off` is expected")?;
    if address.ip().is_loopback() {
        Ok(PageListen::At(address))
    } else {
        Err("the page is for this machine's user alone; give a loopback address, like 127.0.0.1:7710"
            .to_owned())
    }
}

fn parse_threads(text: &str) -> Result<usize, String> {
    const THREADS_MAX: usize = 1024;
    match text.parse() {
        Ok(threads @ 1..=THREADS_MAX) => Ok(threads),
        _ => Err(format!("a number of threads from 1 to {THREADS_MAX} is expected")),
    }
}

/// A number of bytes, with K, M or G for binary multiples.
fn parse_size(text: &str) -> Result<u64, String> {
    let expected = || "a size like 64K, 512M or 2G is expected".to_owned();
    let lower = text.to_ascii_lowercase();
    let bare = lower.trim_end_matches("ib").trim_end_matches('b');
    let (digits, shift) = match bare.chars().last() {
        Some('k') => (&bare[..bare.len() - 1], 10),
        Some('m') => (&bare[..bare.len() - 1], 20),
        Some('g') => (&bare[..bare.len() - 1], 30),
        _ => (bare, 0),
    };
    let number: u64 = digits.trim().parse().map_err(|_| expected())?;
    let bytes = number.checked_mul(1 << shift).ok_or_else(expected)?;
    if RunLimits::INSTANCE_BYTES.start() <= &bytes && bytes <= MEMORY_BYTES_MAX {
        Ok(bytes)
    } else {
        Err("64K to 1048576G is expected".to_owned())
    }
}

/// Maximum of `--memory`: more than any machine has.
const MEMORY_BYTES_MAX: u64 = 1 << 50;

/// Maximum of a pause.
const PAUSE_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

fn parse_duration(text: &str) -> Result<Duration, String> {
    let expected = || "a time like 90s, 30m or 2h is expected".to_owned();
    let (digits, factor) = match text.chars().last() {
        Some('s') => (&text[..text.len() - 1], 1.0),
        Some('m') => (&text[..text.len() - 1], 60.0),
        Some('h') => (&text[..text.len() - 1], 3600.0),
        _ => (text, 1.0),
    };
    let number: f64 = digits.trim().parse().map_err(|_| expected())?;
    let time = Duration::try_from_secs_f64(number * factor).map_err(|_| expected())?;
    if time.is_zero() {
        return Err(expected());
    }
    if time > PAUSE_MAX {
        return Err("a pause is at most a year; leave the time out, or leave the grid".to_owned());
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

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
        assert_eq!(parsed.host.coordinator.authority(), "grid:80");
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
            matches!(parsed.command, Some(Command::Pause { time: Some(time) }) if time.as_secs() == 5400)
        );
        assert_eq!(parsed.host.data_dir, Some(PathBuf::from("x")));
    }

    #[test]
    fn errors_are_one_line_and_name_the_flag() {
        for words in [
            &["--threads", "0"][..],
            &["--coordinator", "https://grid"],
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
        ] {
            let line = SateenHost::try_parse_from([&["sateen-host"], words].concat()).err();
            let line = one_line(&line.expect("it is wrong"));
            assert!(
                !line.contains('\n') && line.contains(words[words.len() - 1].trim_matches('"')),
                "{line}"
            );
        }
    }
}
