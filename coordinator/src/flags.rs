//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use sateen_log::LogFlags;

/// The service where the hosts of a grid meet: it gives runs to hosts, keeps apps and results, and
/// passes on what hosts say to one another.
#[derive(Debug, Parser)]
#[command(name = "sateen-coordinator", version)]
pub struct Flags {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7700")]
    pub listen: SocketAddr,
    /// Where apps, runs and results are kept; `sateen/coordinator` among the system's data if not given
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// Allow addresses that other machines can reach: anyone who can reach it can use the grid
    #[arg(long)]
    pub trusted_network: bool,
    #[command(flatten)]
    pub log: LogFlags,
}
