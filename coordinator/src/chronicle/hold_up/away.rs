//! What workers did while they neither computed nor looked for jobs.

/// A smaller share is next to none.
const WORTH_A_WORD: f64 = 0.01;

/// The causes, and the same in a sentence, for the shares of the time in which workers were paused and in which other runs
/// had their turn; none if both are next to none.
pub fn away(paused: f64, others: f64) -> Option<(&'static str, &'static str)> {
    match (paused >= WORTH_A_WORD, others >= WORTH_A_WORD) {
        (true, true) => Some(("Pauses and other runs", "they were paused or others had their turn")),
        (true, false) => Some(("Pauses", "they were paused")),
        (false, true) => Some(("Other runs", "others had their turn")),
        (false, false) => None,
    }
}
