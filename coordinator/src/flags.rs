//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, CommandFactory, Parser, Subcommand};
use sateen_access::Scope;
use sateen_command_line as values;
use sateen_coordinator::{
    MinimumVersion, Protection, PublicName, RUNS_KEPT_MAX, Retention, TREES_KEPT, TlsSource, TrustedProxy,
};
use sateen_logging::LogFlags;

/// The service that brings the hosts of a grid together: it assigns runs to hosts, keeps apps and
/// results, and relays messages between hosts.
#[derive(Debug, Parser)]
#[command(name = "sateen-coordinator", version, args_conflicts_with_subcommands = true)]
pub struct Flags {
    /// The address to listen on; port 0 stands for any free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7700", value_parser = values::socket_address)]
    pub listen: SocketAddr,
    /// The folder for apps, runs and results [default: `sateen/coordinator` in the user's folder for data]
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// Allow --listen addresses that other machines can reach without TLS and without tokens: anyone who can reach one can
    /// use the grid. Only for networks where everybody is trusted
    #[arg(long, alias = "trusted-network")]
    pub insecure: bool,
    /// Refuse requests without a token even where they are not needed: on loopback behind a proxy that speaks TLS, or with
    /// --insecure
    #[arg(long)]
    pub require_tokens: bool,
    /// The address of a proxy in front of this coordinator, like 192.0.2.7, or a network of proxies, like 10.0.0.0/8. It must send
    /// the PROXY protocol, and clients then count by their own addresses. Tokens are needed then, as with --require-tokens.
    /// May be given several times
    #[arg(long = "trusted-proxy", value_name = "ADDRESS")]
    pub trusted_proxies: Vec<TrustedProxy>,
    #[command(flatten)]
    pub tls: TlsFlags,
    /// A name by which clients reach this coordinator, in addition to localhost and its addresses; requests for
    /// other names are refused. May be given several times
    #[arg(long = "public-name", value_name = "NAME")]
    pub public_names: Vec<PublicName>,
    #[command(flatten)]
    pub room: RoomFlags,
    /// Number of finished runs whose trees, timelines and logs are kept: the newest, with two million jobs together at most.
    /// Figures and results are kept with the run: see --runs-kept [range: 1 to 10000]
    #[arg(long, value_name = "N", default_value_t = TREES_KEPT, value_parser = trees)]
    pub trees_kept: usize,
    /// Begin a new grid in a data folder whose database is lost, with the modules and inputs that are left in the
    /// folder
    #[arg(long)]
    pub new_grid: bool,
    /// Let hosts take part only with a join key, or when `sateen host approve` has approved them; without this, unknown hosts
    /// take part at once. Hosts that have taken part before need no approval
    #[arg(long)]
    pub approve: bool,
    /// The oldest release of hosts and clients that may use the grid, like 0.2.0; others are refused, with what to update
    /// [default: all that speak the same version of the protocol]
    #[arg(long, value_name = "X.Y.Z")]
    pub minimum_version: Option<MinimumVersion>,
    #[command(flatten)]
    pub log: LogFlags,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The disk space that a coordinator may use.
#[derive(Debug, Args)]
pub struct RoomFlags {
    /// Disk space for modules and inputs, like 500M or 64G; those that no app and no run needs any more are deleted
    /// to make room [range: 1M to 1024T]
    #[arg(long, value_name = "SIZE", default_value = "64G", value_parser = size)]
    pub blobs_max: u64,
    /// Disk space for arguments and results of finished runs, like 500M or 64G; one address may use an eighth of it. When
    /// it is used up, the oldest cancelled runs are deleted, and then new runs refused until some are deleted
    /// [range: 1M to 1024T]
    #[arg(long, value_name = "SIZE", default_value = "64G", value_parser = size)]
    pub results_max: u64,
    /// Disk space for results that later runs may find (`sateen submit --reuse`), like 500M or 64G. When it is used up, the
    /// submitter with the most loses those of the app that it has not used for the longest time [range: 1M to 1024T]
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size)]
    pub reuse_max: u64,
    /// Number of finished runs that are kept: the newest. Older ones are deleted, with their results, as by `sateen rm`
    /// [range: 1 to 10000000]
    #[arg(long, value_name = "N", default_value_t = RUNS_KEPT_MAX, value_parser = runs)]
    pub runs_kept: u64,
    /// Time for which finished runs are kept, like 30d or 12h, or `forever`. Then they are deleted, with their results, as by
    /// `sateen rm` [range: 1m to 36500d]
    #[arg(long, value_name = "TIME", default_value = "365d", value_parser = kept_for)]
    pub runs_kept_for: KeptFor,
}

/// A time for which something is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptFor(pub Option<Duration>);

/// The certificate of a coordinator that speaks TLS.
#[derive(Debug, Args)]
pub struct TlsFlags {
    /// The TLS certificate with its intermediate certificates, in PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Speak TLS with a certificate that this program makes, signed by an authority of its own in the data folder. Clients
    /// give the authority's fingerprint, which is printed at the start, with --pin
    #[arg(long, conflicts_with_all = ["tls_cert", "tls_key"])]
    pub tls_self_signed: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make the first token of a grid, while its coordinator does not run
    #[command(subcommand)]
    Token(TokenCommand),
    #[command(flatten)]
    Generate(values::Generate),
}

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token, and print it; with an admin's token, `sateen token new` makes others while the coordinator runs
    New(NewToken),
}

#[derive(Debug, Args)]
pub struct NewToken {
    /// What its holder may do
    #[arg(long, value_name = "SCOPE", default_value = "admin", value_parser = scope)]
    pub scope: Scope,
    /// The token's name, for people [default: the scope]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub name: Option<String>,
    /// Time for which it is valid, like 12h or 30d [default: no expiry] [range: 1s to 36500d]
    #[arg(long, value_name = "TIME", value_parser = valid_for)]
    pub expires: Option<Duration>,
    /// The coordinator's data folder [default: `sateen/coordinator` in the user's folder for data]
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
}

impl RoomFlags {
    /// Which finished runs are kept.
    pub fn retention(&self) -> Retention {
        Retention { runs_max: self.runs_kept, age_max: self.runs_kept_for.0 }
    }
}

impl Flags {
    /// What protects the coordinator.
    pub fn protection(&self) -> Protection {
        let tls = match (&self.tls.tls_cert, &self.tls.tls_key) {
            (Some(certificate), Some(key)) => {
                Some(TlsSource::Files { certificate: certificate.clone(), key: key.clone() })
            }
            _ => self.tls.tls_self_signed.then_some(TlsSource::SelfSigned),
        };
        Protection {
            insecure: self.insecure,
            require_tokens: self.require_tokens,
            trusted_proxies: self.trusted_proxies.clone(),
            tls,
        }
    }
}

/// The program with all its flags, from which help, man pages and completions are generated.
pub fn program() -> clap::Command {
    Flags::command()
}

/// An error of the command line, on one line.
pub fn one_line(error: &clap::Error) -> String {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    values::one_line(error, &Flags::command(), &words)
}

/// An amount of disk space; the maximum is more than any disk has.
fn size(text: &str) -> Result<u64, String> {
    values::size(text, 1 << 20..=1 << 50)
}

fn scope(text: &str) -> Result<Scope, String> {
    Scope::parse(text).ok_or_else(|| format!("expected one of {}", Scope::ALL.map(Scope::word).join(", ")))
}

fn valid_for(text: &str) -> Result<Duration, String> {
    const MAX_MS: u64 = 36_500 * 24 * 3_600_000;
    values::time(text, 1000..=MAX_MS)
}

fn kept_for(text: &str) -> Result<KeptFor, String> {
    const FOREVER: &str = "forever";
    const MAX_MS: u64 = 36_500 * 24 * 3_600_000;
    if text == FOREVER {
        return Ok(KeptFor(None));
    }
    let time = values::time(text, 60_000..=MAX_MS).map_err(|expected| format!("{expected}, or {FOREVER}"))?;
    Ok(KeptFor(Some(time)))
}

fn runs(text: &str) -> Result<u64, String> {
    values::number(text, 1..=10_000_000)
}

fn trees(text: &str) -> Result<usize, String> {
    values::number(text, 1..=10_000).map(|number| number as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        Flags::command().debug_assert();
        assert_eq!(size("64G"), Ok(sateen_coordinator::BLOBS_BYTES_MAX));
        assert_eq!(size("64G"), Ok(sateen_coordinator::RESULTS_BYTES_MAX));
    }

    #[test]
    fn runs_are_kept_for_a_time_or_forever() {
        assert_eq!(kept_for("365d"), Ok(KeptFor(Retention::default().age_max)), "the default");
        assert_eq!(kept_for("forever"), Ok(KeptFor(None)));
        assert_eq!(kept_for("2h"), Ok(KeptFor(Some(Duration::from_secs(7200)))));
        for wrong in ["", "0", "59s", "never", "36501d"] {
            let error = kept_for(wrong).expect_err(wrong);
            assert!(error.contains("from 1m to 36500d") && error.ends_with("or forever"), "{error}");
        }
    }

    #[test]
    fn a_certificate_comes_with_its_key_or_is_made() {
        let tls = |words: &[&str]| {
            let flags = Flags::try_parse_from([&["sateen-coordinator"], words].concat());
            flags.map(|flags| flags.protection().tls).map_err(|error| one_line(&error))
        };
        assert_eq!(tls(&[]), Ok(None));
        assert_eq!(tls(&["--tls-self-signed"]), Ok(Some(TlsSource::SelfSigned)));
        let files = TlsSource::Files { certificate: "a".into(), key: "b".into() };
        assert_eq!(tls(&["--tls-cert", "a", "--tls-key", "b"]), Ok(Some(files)));
        for words in
            [&["--tls-cert", "a"][..], &["--tls-key", "b"], &["--tls-self-signed", "--tls-cert", "a"]]
        {
            assert!(tls(words).is_err_and(|why| why.contains("--tls-")), "{words:?}");
        }
    }

    #[test]
    fn a_minimum_version_is_a_release() {
        let minimum = |text| {
            let flags = Flags::try_parse_from(["sateen-coordinator", "--minimum-version", text]);
            flags.map(|flags| flags.minimum_version).map_err(|error| one_line(&error))
        };
        assert_eq!(minimum("0.2.0"), Ok("0.2.0".parse().ok()));
        assert!(
            minimum("0.2").is_err_and(|why| why.contains("--minimum-version") && why.contains("three parts"))
        );
    }

    #[test]
    fn the_former_name_of_insecure_still_works() {
        let flags = Flags::try_parse_from(["sateen-coordinator", "--trusted-network"]);
        assert!(flags.is_ok_and(|flags| flags.protection().insecure));
    }
}
