//! How many workers compute for each run.

use sateen_protocol::Counts;

/// Between two samples, a worker may move from one run to another, and would seem to compute for both. Then it counts
/// for the first.
pub fn at_one_moment<'a>(threads: usize, counts: impl Iterator<Item = &'a mut Counts>) {
    let mut free = u32::try_from(threads).unwrap_or(u32::MAX);
    for counts in counts {
        counts.busy = counts.busy.min(free);
        free -= counts.busy;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_worker_computes_for_two_runs_at_once() {
        let busy = |threads: usize, seen: &[u32]| {
            let mut counts: Vec<Counts> =
                seen.iter().map(|busy| Counts { busy: *busy, ..Counts::default() }).collect();
            at_one_moment(threads, counts.iter_mut());
            counts.iter().map(|counts| counts.busy).collect::<Vec<u32>>()
        };
        assert_eq!(busy(1, &[1, 1, 0]), [1, 0, 0]);
        assert_eq!(busy(4, &[2, 1, 1]), [2, 1, 1]);
        assert_eq!(busy(4, &[0, 3, 2]), [0, 3, 1]);
    }
}
