/// The next step of a guest that is being profiled, for the import `measure`.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The instance's parameters are decoded, and its job begins.
    Begin = 0,
    /// The instance's job has returned, and its result will be encoded.
    End = 1,
    /// A job was spawned.
    Spawned = 2,
    /// A job will be called in place.
    Call = 3,
    /// The last job called in place that has not returned yet returns.
    Return = 4,
    /// The parameters of a job will be encoded and exposed.
    Expose = 5,
    /// The result of a job that ran elsewhere is decoded.
    Taken = 6,
    /// Every sandbox does the following work for itself.
    Making = 7,
    /// A digest of the value being made, in `kind` and `depth`: the first sandbox to make it in this run does the
    /// program's work.
    Key = 8,
    /// The value announced last with `Making` is made.
    Made = 9,
    /// A shared object is updated: the address and, as `depth`, the length of its type's name.
    Updated = 10,
    /// Jobs of a set are dropped: `kind` is their kind, and `depth` their number.
    Dropped = 11,
    /// The updates from the last `catch_up` will be applied to the object with the number `record`. The answer is the
    /// number of updates that others have applied: these come first, and are not the program's work.
    CaughtUp = 12,
}

impl Moment {
    /// Every moment, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::Begin,
        Self::End,
        Self::Spawned,
        Self::Call,
        Self::Return,
        Self::Expose,
        Self::Taken,
        Self::Making,
        Self::Key,
        Self::Made,
        Self::Updated,
        Self::Dropped,
        Self::CaughtUp,
    ];

    /// The moment with this number.
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fault;

    #[test]
    fn every_number_is_its_index() {
        for (number, moment) in (0_u32..).zip(Moment::ALL) {
            assert_eq!((moment as u32, Moment::of(number)), (number, Some(moment)));
        }
        assert_eq!(Moment::of(13), None);
        assert_eq!(Fault::of(0), None);
        Fault::ALL.iter().for_each(|fault| assert_eq!(Fault::of(*fault as u32), Some(*fault)));
    }
}
