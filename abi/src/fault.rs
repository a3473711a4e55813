/// Why a guest gives up, for the import `fail`.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The job that was synced last had failed, and so has this one.
    Child = 1,
    /// Parameters or a result that do not decode.
    Encoding = 2,
    /// An update of a shared object could not be applied. The text's first line names it, the others say
    /// why; the run is over.
    Update = 3,
    /// A value or an update of a shared object does not decode; the run is over.
    Replica = 4,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 4] = [Self::Child, Self::Encoding, Self::Update, Self::Replica];

    /// The fault with this number.
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| *fault as u32 == number)
    }
}
