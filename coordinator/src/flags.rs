//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use sateen_coordinator::{PublicName, TREES_KEPT};
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
    /// What modules and inputs may take on the disk, like 500M or 64G; those that no app and no run needs make room for others
    #[arg(long, value_name = "SIZE", default_value = "64G", value_parser = size)]
    pub blobs_max: u64,
    /// Finished runs whose trees, timelines and logs are kept, 1 to 10000: the newest, with two million jobs at most. Their
    /// figures and results are kept until `sateen rm`
    #[arg(long, value_name = "N", default_value_t = TREES_KEPT as u32, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub trees_kept: u32,
    /// What results of finished runs may take on the disk, like 500M or 64G, and those of one address an eighth of that. When it
    /// is used up, runs are refused until some are deleted
    #[arg(long, value_name = "SIZE", default_value = "64G", value_parser = size)]
    pub results_max: u64,
    /// Begin a new grid in a data folder whose database is lost, with the modules and inputs that are left in it
    #[arg(long)]
    pub new_grid: bool,
    #[command(flatten)]
    pub log: LogFlags,
}

/// More than any disk has.
const SIZE_MAX: u64 = 1 << 50;

/// A number of bytes, with a unit if they are many.
fn size(text: &str) -> Result<u64, String> {
    let text = text.trim_end_matches("iB").trim_end_matches('B');
    let (digits, shift) = match text.strip_suffix(['K', 'M', 'G', 'T']) {
        Some(digits) => (digits, 10 * (1 + "KMGT".find(&text[digits.len()..]).unwrap_or(0))),
        None => (text, 0),
    };
    let bytes = digits.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    let bytes = bytes.filter(|bytes| (1..=SIZE_MAX).contains(bytes));
    bytes.ok_or_else(|| "expected a size up to 1024T, for example, 500M or 64G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in
            [("1", 1), ("5K", 5 << 10), ("500MiB", 500 << 20), ("64G", 64 << 30), ("2TB", 2 << 40)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        assert_eq!(size("64G"), Ok(sateen_coordinator::BLOBS_BYTES_MAX));
        assert_eq!(size("64G"), Ok(sateen_coordinator::RESULTS_BYTES_MAX));
        for text in ["", "G", "0", "-1", "1.5G", "99999999999T", "1X"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
