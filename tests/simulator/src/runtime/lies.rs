//! Hosts that give wrong results on purpose.

use sateen_protocol::JobKey;

use super::task::Answer;
use crate::digest::mix;

/// How a host lies.
#[derive(Debug, Clone, Copy)]
pub struct Liar {
    /// The wrong results, in a thousand. Which jobs they are of follows from the jobs.
    pub per_mille: u64,
    /// Hosts that lie together have the same number here, and give the same wrong results of the same jobs.
    pub league: u64,
}

/// What a host has to do with wrong results.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lies {
    /// Whether it may get wrong results, which otherwise is a fault of the protocol.
    pub are_expected: bool,
    /// How it lies itself.
    pub own: Option<Liar>,
}

impl Lies {
    /// A result as it leaves the host.
    pub fn twist(&self, key: &JobKey, answer: Answer) -> Answer {
        let Some(Liar { per_mille, league }) = self.own else { return answer };
        let draw = mix(key.tag().0 ^ mix(league));
        let value = if draw % 1000 < per_mille { mix(answer.value ^ draw) } else { answer.value };
        Answer { value, ..answer }
    }
}
