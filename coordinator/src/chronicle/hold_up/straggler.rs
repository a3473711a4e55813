//! Whether one job, or a few, keep a run from ending.

use super::figures::{number, time};
use super::{Evidence, HoldUp, HoldUpKind, LastJob, said, sum};
use crate::chronicle::timeline::Totals;

/// A run is in its final phase while at most this many workers compute, or this share of them if that is more.
const LAST_WORKERS: f64 = 1.5;
const LAST_SHARE: f64 = 0.25;
/// If fewer compute in the final phase, the run waits for something other than a job.
const STRAGGLING_WORKERS_MIN: f64 = 0.5;
/// Minimum share of a run's time taken by a final phase that is blamed on a straggler; before it, workers computed this share.
const END_MIN: f64 = 0.15;
const BEFORE_END_MIN: f64 = 0.5;
/// In the final phase, at most this part of the workers compute that computed before.
const FALL_MAX: f64 = 0.8;
/// A straggler ran for at least this share of the final phase.
const JOB_SHARE_MIN: f64 = 0.5;

impl Evidence {
    /// The final phase, past or present: next to no workers compute, and before it most did.
    pub(super) fn straggler(&self, is_disturbed: &[bool]) -> Option<HoldUp> {
        let is_end = |totals: &Totals| {
            totals.workers >= 2.0 && totals.work <= LAST_WORKERS.max(LAST_SHARE * totals.workers)
        };
        // The newest stretch may not be over, and hosts report at different moments.
        let known = self.totals.len().saturating_sub(1);
        let is_calm = |place: usize| !is_disturbed.get(place).copied().unwrap_or_default();
        let stretches = self.totals.get(..known)?.iter().enumerate().rev();
        let end = stretches.take_while(|(place, totals)| is_calm(*place) && is_end(totals)).count();
        let end_s = end as f64 * self.bucket_s;
        let before = sum(self.totals.get(..known - end)?);
        let last = sum(self.totals.get(known - end..known)?);
        let was_busy = before.work >= BEFORE_END_MIN * before.workers;
        if end_s < 1.0 || end_s < END_MIN * self.passed_s || before.workers == 0.0 || !was_busy {
            return None;
        }
        if last.work < STRAGGLING_WORKERS_MIN * end as f64 {
            return None;
        }
        // Where few workers compute all the time, the end is like the rest.
        let has_fallen = last.work / end as f64 <= FALL_MAX * before.work / (known - end) as f64;
        let is_long = |job: &LastJob| job.ran_s >= JOB_SHARE_MIN * end_s;
        if !has_fallen || !self.last_job.as_ref().is_none_or(is_long) {
            return None;
        }
        let mean = |of: f64| number(of / end as f64);
        let computing = mean(last.work);
        let have = if computing == "1" { "has computed" } else { "have computed" };
        let mut text = format!(
            "A straggler {} it up: for the last {} only {computing} of {} workers {}",
            self.tense("holds", "held"),
            time(end_s),
            mean(last.workers),
            self.tense(have, "computed"),
        );
        if let Some(LastJob { what, host, ran_s, has_ended }) = &self.last_job {
            let verb = if *has_ended { "ran" } else { self.tense("has run", "ran") };
            text.push_str(&format!("; the job {what} {verb} for {} on {host}", time(*ran_s)));
        }
        text.push('.');
        said(HoldUpKind::Straggler, text)
    }
}
