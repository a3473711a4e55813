//! Hosts' names.

/// A host's name for itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostName {
    /// Its name.
    pub name: String,
    /// Its site.
    pub site: String,
}
