//! The flags of the commands about tokens.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use sateen_access::{Pin, Scope};
use sateen_api::limits::TOKEN_RUNS_MAX;
use sateen_command_line as values;
use sateen_protocol::Share;

use super::grid::{Grid, parse_coordinator};
use super::{List, parse_number};

#[derive(Args)]
pub struct Login {
    /// Address of the coordinator: a URL, or HOST:PORT
    #[arg(value_name = "URL", value_parser = parse_coordinator)]
    pub coordinator: String,
    /// File with the token; `-` is stdin [default: the variable SATEEN_TOKEN, or else the terminal is asked]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Fingerprint of the certificate authority of a coordinator that was started with --tls-self-signed; ask its operator
    /// for it. From then on, this authority is trusted for this coordinator, and no other
    #[arg(long, value_name = "sha256:DIGITS")]
    pub pin: Option<Pin>,
}

#[derive(Args)]
pub struct Logout {
    /// Address of the coordinator: a URL, or HOST:PORT
    #[arg(value_name = "URL", value_parser = parse_coordinator)]
    pub coordinator: String,
}

#[derive(Subcommand)]
pub enum TokenCommand {
    /// Make a token, and print its secret, which cannot be shown again
    New(NewToken),
    /// List all tokens, without their secrets
    Ls(List),
    /// Revoke tokens, at once: connections that they opened are closed
    Revoke(Revoke),
}

#[derive(Args)]
pub struct NewToken {
    /// What its holder may do: `volunteer`, take part as a host; `submitter`, publish apps, submit runs and read their results;
    /// `viewer`, see hosts and runs without results and inputs; `admin`, everything
    #[arg(long, value_name = "SCOPE", value_parser = parse_scope)]
    pub scope: Scope,
    /// The token's name, for people [default: the scope]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub name: Option<String>,
    /// Time for which it is valid, like 12h or 30d, by the coordinator's clock [default: no expiry] [range: 1s to 36500d]
    #[arg(long, value_name = "TIME", value_parser = parse_valid_for)]
    pub expires: Option<Duration>,
    /// Only with the scope `volunteer`: this many hosts may join with it, and each gets a token of its own [default: any
    /// number of hosts, which use this token] [range: 1 to 100000]
    #[arg(long, value_name = "N", value_parser = parse_uses)]
    pub uses: Option<u32>,
    /// Only with the scopes `submitter` and `admin`: the weight by which hosts are shared with other submitters; runs of a holder
    /// with weight 3 get three times as much as those of one with weight 1 [default: 1] [range: 1 to 1000]
    #[arg(long, value_name = "N", value_parser = parse_weight)]
    pub weight: Option<u16>,
    /// Only with the scopes `submitter` and `admin`: maximum runs of the holder that are not over [default: no quota] [range: 1 to
    /// 1000000]
    #[arg(long, value_name = "N", value_parser = parse_runs_max)]
    pub runs_max: Option<u32>,
    /// Print one JSON object instead of the secret
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub grid: Grid,
}

#[derive(Args)]
pub struct Revoke {
    /// Names or numbers of tokens
    #[arg(value_name = "NAME-OR-ID", required = true)]
    pub tokens: Vec<String>,
    #[command(flatten)]
    pub grid: Grid,
}

#[derive(Args)]
pub struct Audit {
    /// Maximum lines, the newest [range: 1 to 60000]
    #[arg(long, value_name = "N", default_value = "100", value_parser = parse_lines)]
    pub limit: usize,
    #[command(flatten)]
    pub list: List,
}

fn parse_scope(text: &str) -> Result<Scope, String> {
    Scope::parse(text).ok_or_else(|| format!("expected one of {}", Scope::ALL.map(Scope::word).join(", ")))
}

fn parse_valid_for(text: &str) -> Result<Duration, String> {
    const MAX_MS: u64 = 36_500 * 24 * 3_600_000;
    values::time(text, 1000..=MAX_MS)
}

fn parse_uses(text: &str) -> Result<u32, String> {
    parse_number(text, 100_000).map(|uses| uses as u32)
}

fn parse_weight(text: &str) -> Result<u16, String> {
    let range = u64::from(*Share::WEIGHTS.start())..=u64::from(*Share::WEIGHTS.end());
    values::number(text, range).map(|weight| weight as u16)
}

fn parse_runs_max(text: &str) -> Result<u32, String> {
    let range = u64::from(*TOKEN_RUNS_MAX.start())..=u64::from(*TOKEN_RUNS_MAX.end());
    values::number(text, range).map(|runs| runs as u32)
}

fn parse_lines(text: &str) -> Result<usize, String> {
    parse_number(text, 60_000)
}
