//! Why workers neither computed for a run nor looked for its jobs.

/// A smaller share is next to none.
const WORTH_A_WORD: f64 = 0.01;

/// The causes, as a subject and as a clause. `paused` and `others` are the shares of the time for which workers were paused
/// and for which other runs had their turn. None if both are next to none.
pub fn elsewhere(paused: f64, others: f64) -> Option<(&'static str, &'static str)> {
    match (paused >= WORTH_A_WORD, others >= WORTH_A_WORD) {
        (true, true) => Some(("Pauses and other runs", "they were paused or other runs had their turn")),
        (true, false) => Some(("Pauses", "they were paused")),
        (false, true) => Some(("Other runs", "other runs had their turn")),
        (false, false) => None,
    }
}
