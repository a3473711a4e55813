//! The flags of commands that call cargo.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

/// Flags that are passed on to cargo.
#[derive(Args, Default)]
#[command(next_help_heading = "Cargo")]
pub struct CargoFlags {
    /// The app's package, in a workspace
    #[arg(long, short, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub package: Option<String>,
    /// Features of the app to enable
    #[arg(long, short = 'F', value_name = "FEATURES")]
    pub features: Vec<String>,
    /// Enable all features of the app
    #[arg(long)]
    pub all_features: bool,
    /// Disable the app's default features
    #[arg(long)]
    pub no_default_features: bool,
    /// Fail if Cargo.lock would change
    #[arg(long)]
    pub locked: bool,
    /// Do not use the network
    #[arg(long)]
    pub offline: bool,
    /// Same as --locked and --offline
    #[arg(long)]
    pub frozen: bool,
}

impl CargoFlags {
    /// The flags about features, as words for cargo.
    pub fn of_features(&self) -> Vec<String> {
        let features = self.features.iter().map(|features| format!("--features={features}"));
        let switches =
            [(self.all_features, "--all-features"), (self.no_default_features, "--no-default-features")];
        features.chain(switched_on(&switches)).collect()
    }

    /// The flags about the source of dependencies.
    pub fn of_dependencies(&self) -> Vec<String> {
        let switches = [(self.locked, "--locked"), (self.offline, "--offline"), (self.frozen, "--frozen")];
        switched_on(&switches)
    }
}

fn switched_on(switches: &[(bool, &str)]) -> Vec<String> {
    switches.iter().filter(|(is_on, _)| *is_on).map(|(_, flag)| (*flag).to_owned()).collect()
}
