//! Network namespaces with delays made by the kernel (`tc netem`), if the machine allows.
//!
//! A namespace is a site: a pair of virtual interfaces connects it to the machine's own network. It needs
//! root, `ip`, `tc`, and a kernel with netem; if one of them is missing, the test reports that and
//! is skipped.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

/// A namespace, which is deleted when this is dropped.
pub struct Site {
    name: String,
    outside: Ipv4Addr,
}

impl Site {
    /// A network whose packets need `delay_ms` in each direction; `number`, 1 to 250, must not be
    /// used by another at the same time.
    ///
    /// # Errors
    /// The reason why this machine cannot have it.
    pub fn new(number: u8, delay_ms: u32) -> Result<Self, String> {
        let name = format!("sateen-{}-{number}", std::process::id());
        let (outside, inside) = (Ipv4Addr::new(10, 213, number, 1), Ipv4Addr::new(10, 213, number, 2));
        // Names of interfaces have at most fifteen letters.
        let (here, there) = (format!("sat{number}-out"), format!("sat{number}-in"));
        ip(&["netns", "add", &name])?;
        // From here on, dropping it deletes it.
        let site = Self { name, outside };
        let name = site.name.as_str();
        ip(&["link", "add", &here, "type", "veth", "peer", "name", &there, "netns", name])?;
        ip(&["address", "add", &format!("{outside}/24"), "dev", &here])?;
        ip(&["link", "set", &here, "up"])?;
        ip(&["-n", name, "address", "add", &format!("{inside}/24"), "dev", &there])?;
        ip(&["-n", name, "link", "set", &there, "up"])?;
        ip(&["-n", name, "link", "set", "lo", "up"])?;
        let delay = format!("{delay_ms}ms");
        run("tc", &["qdisc", "add", "dev", &here, "root", "netem", "delay", &delay])?;
        run("tc", &["-n", name, "qdisc", "add", "dev", &there, "root", "netem", "delay", &delay])?;
        Ok(site)
    }

    /// The machine's address for processes inside.
    pub fn outside(&self) -> Ipv4Addr {
        self.outside
    }

    /// `command`, run inside.
    pub fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.name]).arg(command.get_program()).args(command.get_args());
        inside
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // This also deletes its interface, and with it the other end.
        let _ = ip(&["netns", "delete", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    run("ip", arguments)
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("`{program} {}` failed: {why}", arguments.join(" ")))
}
