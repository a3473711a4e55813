//! The flags of `sateen host`.

use clap::{Args, Subcommand};

use super::grid::{Grid, List};

/// What an operator decides about hosts.
#[derive(Subcommand)]
pub enum HostKeys {
    /// List the keys of hosts: those that may take part, that wait for approval, and that may not
    Ls(List),
    /// Let hosts take part. A coordinator started with `--approve` lets no others in
    Approve(OfKeys),
    /// Cut hosts off at once, and refuse them from now on
    Revoke(OfKeys),
}

#[derive(Args)]
pub struct OfKeys {
    /// Keys, as `sateen-host key show` prints them; of those that `sateen host ls` lists, the first 8 digits are enough
    #[arg(value_name = "KEY", required = true)]
    pub keys: Vec<String>,
    /// Print one JSON object, or a list of them for several keys
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub grid: Grid,
}
