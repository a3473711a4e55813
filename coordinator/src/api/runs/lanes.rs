//! Sorts a worker's jobs into lanes, so that the slices of a lane either follow one another or are nested.
//!
//! A worker that waits for a job's children runs other jobs meanwhile, and these may end after the first: Chrome's
//! trace format allows no such overlap on one track.

/// Maximum lanes of a worker.
const LANES_MAX: usize = 64;

/// When and where a job ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The host's place in the tree.
    pub host: u32,
    /// Its worker; `u16::MAX` if that is not known.
    pub worker: u16,
    /// In milliseconds since the run was submitted.
    pub begun_ms: u32,
    /// The same unit; not before `begun_ms`.
    pub ended_ms: u32,
}

/// A job in its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Laid {
    /// As in its span.
    pub begun_ms: u32,
    /// As in its span.
    pub ended_ms: u32,
    /// Its number among its worker's lanes; none if more than [`LANES_MAX`] jobs overlap.
    pub lane: Option<u8>,
}

/// Assigns each span a lane.
pub fn lay_out(spans: &[Span]) -> Vec<Laid> {
    let mut order: Vec<u32> = (0..spans.len() as u32).collect();
    let of = |place: u32| spans[place as usize];
    // In order of beginning; of those that begin together, the one that ends last comes first.
    order.sort_unstable_by_key(|place| {
        let span = of(*place);
        (span.host, span.worker, span.begun_ms, std::cmp::Reverse(span.ended_ms), *place)
    });
    let unlaid = |span: &Span| Laid { begun_ms: span.begun_ms, ended_ms: span.ended_ms, lane: None };
    let mut laid: Vec<Laid> = spans.iter().map(unlaid).collect();
    // For each lane of the present worker, the ends of the nested jobs.
    let mut lanes: Vec<Vec<u32>> = Vec::new();
    let mut worker = None;
    for place in order {
        let span = of(place);
        if worker != Some((span.host, span.worker)) {
            worker = Some((span.host, span.worker));
            lanes.clear();
        }
        let fits = lanes.iter_mut().position(|lane| {
            while lane.last().is_some_and(|end_ms| *end_ms <= span.begun_ms) {
                lane.pop();
            }
            lane.last().is_none_or(|end_ms| *end_ms >= span.ended_ms)
        });
        let lane = fits.unwrap_or(lanes.len());
        if lane == lanes.len() && lane < LANES_MAX {
            lanes.push(Vec::new());
        }
        if let Some(ends) = lanes.get_mut(lane) {
            ends.push(span.ended_ms);
            laid[place as usize].lane = u8::try_from(lane).ok();
        }
    }
    laid
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(worker: u16, begun_ms: u32, ended_ms: u32) -> Span {
        Span { host: 0, worker, begun_ms, ended_ms }
    }

    fn lanes(spans: &[Span]) -> Vec<Option<u8>> {
        lay_out(spans).into_iter().map(|laid| laid.lane).collect()
    }

    #[test]
    fn nested_jobs_share_a_lane_and_overlapping_jobs_do_not() {
        let spans = [span(0, 0, 100), span(0, 10, 50), span(0, 20, 60), span(0, 60, 70), span(1, 20, 300)];
        assert_eq!(lanes(&spans), [Some(0), Some(0), Some(1), Some(0), Some(0)]);
        // In any order.
        let back: Vec<Span> = spans.iter().rev().copied().collect();
        assert_eq!(lanes(&back), [Some(0), Some(0), Some(1), Some(0), Some(0)]);
    }

    #[test]
    fn no_two_slices_of_a_lane_overlap() {
        let mut state = 7_u32;
        let mut dice = move |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let spans: Vec<Span> = (0..600)
            .map(|_| {
                let begun_ms = dice(5000);
                Span { host: dice(2), worker: dice(3) as u16, begun_ms, ended_ms: begun_ms + dice(200) }
            })
            .collect();
        let laid = lay_out(&spans);
        assert!(laid.iter().all(|laid| laid.lane.is_some()) && laid.iter().any(|laid| laid.lane > Some(1)));
        for (one, a) in spans.iter().enumerate() {
            for (other, b) in spans.iter().enumerate().skip(one + 1) {
                let is_together = (a.host, a.worker, laid[one].lane) == (b.host, b.worker, laid[other].lane);
                let is_apart = a.ended_ms <= b.begun_ms || b.ended_ms <= a.begun_ms;
                let is_within = (a.begun_ms <= b.begun_ms && b.ended_ms <= a.ended_ms)
                    || (b.begun_ms <= a.begun_ms && a.ended_ms <= b.ended_ms);
                assert!(!is_together || is_apart || is_within, "{a:?} and {b:?}");
            }
        }
    }

    #[test]
    fn lanes_are_bounded() {
        let spans: Vec<Span> = (0..1000).map(|at| span(0, at, 2000 + at)).collect();
        let laid = lanes(&spans);
        assert_eq!(laid.iter().flatten().count(), LANES_MAX);
    }
}
