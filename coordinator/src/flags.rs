//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use sateen_coordinator::PublicName;
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
    /// A name of this coordinator, beside localhost and its addresses: requests for other names are refused. May be given several times
    #[arg(long = "public-name", value_name = "NAME")]
    pub public_names: Vec<PublicName>,
    #[command(flatten)]
    pub log: LogFlags,
}
