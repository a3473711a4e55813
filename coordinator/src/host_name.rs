//! What hosts call themselves.

/// What a host calls itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostName {
    /// Its name.
    pub name: String,
    /// Its site.
    pub site: String,
}
