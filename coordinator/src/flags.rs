//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{CommandFactory, Parser};
use sateen_command_line as values;
use sateen_coordinator::{PublicName, TREES_KEPT};
use sateen_logging::LogFlags;

/// The service that brings the hosts of a grid together: it assigns runs to hosts, keeps apps and
/// results, and relays messages between hosts.
#[derive(Debug, Parser)]
#[command(name = "sateen-coordinator", version, args_conflicts_with_subcommands = true)]
pub struct Flags {
    /// The address to listen on; port 0 stands for any free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7700")]
    pub listen: SocketAddr,
    /// The folder for apps, runs and results [default: `sateen/coordinator` in the user's folder for data]
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// Allow --listen addresses that other machines can reach; anyone who can reach one can use the grid
    #[arg(long)]
    pub trusted_network: bool,
    /// A name by which clients reach this coordinator, in addition to localhost and its addresses; requests for
    /// other names are refused. May be given several times
    #[arg(long = "public-name", value_name = "NAME")]
    pub public_names: Vec<PublicName>,
    /// Disk space for modules and inputs, like 500M or 64G; those that no app and no run needs any more are deleted
    /// to make room [range: 1M to 1024T]
    #[arg(long, value_name = "SIZE", default_value = "64G", value_parser = size)]
    pub blobs_max: u64,
    /// Number of finished runs whose trees, timelines and logs are kept: the newest, with two million jobs together at most.
    /// Figures and results of runs are kept until `sateen rm` [range: 1 to 10000]
    #[arg(long, value_name = "N", default_value_t = TREES_KEPT, value_parser = trees)]
    pub trees_kept: usize,
    /// Disk space for arguments and results of finished runs, like 500M or 64G; one address may use an eighth of it. When
    /// it is used up, the oldest cancelled runs are deleted, and then new runs refused until some are deleted
    /// [range: 1M to 1024T]
    #[arg(long, value_name = "SIZE", default_value = "64G", value_parser = size)]
    pub results_max: u64,
    /// Begin a new grid in a data folder whose database is lost, with the modules and inputs that are left in the
    /// folder
    #[arg(long)]
    pub new_grid: bool,
    /// Let hosts take part only when `sateen host approve` has approved their keys; without this, unknown hosts take part at
    /// once. Hosts that have taken part before need no approval
    #[arg(long)]
    pub approve: bool,
    #[command(flatten)]
    pub log: LogFlags,
    #[command(subcommand)]
    pub generate: Option<values::Generate>,
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
}
