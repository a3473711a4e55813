//! How many websockets of hosts the system allows: each takes a file descriptor.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits::{DESCRIPTORS_KEPT, LINKS_MAX};

/// Raises the limit of open files as far as the system allows, and returns the number of links that fit.
pub fn raise() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let allowed = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let links_max = links_max(allowed);
    if links_max < LINKS_MAX {
        tracing::info!(
            links_max,
            open_files = allowed.unwrap_or(u64::MAX),
            "the limit of open files bounds how many hosts can connect; raise it (LimitNOFILE=, ulimit -Hn) for more"
        );
    }
    links_max
}

/// The number of links with this limit of open files; `None` stands for no limit.
fn links_max(open_files: Option<u64>) -> usize {
    let open_files = open_files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
    // A service with a tiny limit still accepts some hosts.
    open_files.saturating_sub(DESCRIPTORS_KEPT).max(open_files / 2).clamp(1, LINKS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_leave_descriptors_for_the_rest() {
        assert_eq!(links_max(None), LINKS_MAX);
        assert_eq!(links_max(Some(u64::MAX)), LINKS_MAX);
        assert_eq!(links_max(Some(20_000)), 20_000 - DESCRIPTORS_KEPT);
        assert_eq!(links_max(Some(1024)), 512);
        assert_eq!(links_max(Some(0)), 1);
    }
}
