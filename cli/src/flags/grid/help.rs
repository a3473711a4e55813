//! Help texts that differ between commands.

use clap::Arg;

/// The limits in the help of `sateen replay`.
pub fn of_replay(flag: Arg) -> Arg {
    let help = match flag.get_id().as_str() {
        "memory" => "Memory of one instance [default: that of the run, else 1G] [range: 64K to 4G]",
        "stack" => {
            "Stack of one instance: how deep it may recurse [default: that of the run, else 64M] [range: 64K to 4G]"
        }
        "max_output" => {
            "Size of a result or of a job's parameters [default: that of the run, else 64M] [range: 1B to 64M]"
        }
        "max_shared" => "Memory for shared objects [default: that of the run, else 1G] [range: 1B to 1T]",
        "guard_limit" => {
            "How long the guard of a job may be false [default: that of the run, else 60s] [range: 1ms to 36500d]"
        }
        _ => return flag,
    };
    flag.help(help)
}
