/// What comes next in a guest that is profiled, for the import `measure`.
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
    /// The job that was called in place last, and has not returned, returns.
    Return = 4,
    /// The parameters of a job will be encoded and exposed.
    Expose = 5,
    /// The result of a job that ran elsewhere is decoded.
    Taken = 6,
    /// What follows every sandbox does for itself.
    Making = 7,
    /// What is being made, as a digest in `kind` and `depth`: the first to make it in this run does the program's work.
    Key = 8,
    /// What was begun last with `Making` is made.
    Made = 9,
    /// A shared object is updated: the address and, as `depth`, the length of its type's name.
    Updated = 10,
    /// Jobs of a set are dropped: `kind` is theirs, and `depth` is their number.
    Dropped = 11,
    /// The updates that came with `catch_up` last will be applied to the object with the number `record`. Answered with how
    /// many others have applied: these come first, and are no work of the program's.
    CaughtUp = 12,
}

impl Moment {
    /// All of them, in the order of their numbers.
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

    /// The one with this number.
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fault;

    #[test]
    fn numbers_are_those_of_their_places() {
        for (number, moment) in (0_u32..).zip(Moment::ALL) {
            assert_eq!((moment as u32, Moment::of(number)), (number, Some(moment)));
        }
        assert_eq!(Moment::of(13), None);
        assert_eq!(Fault::of(0), None);
        Fault::ALL.iter().for_each(|fault| assert_eq!(Fault::of(*fault as u32), Some(*fault)));
    }
}
