//! Hosts that give wrong results on purpose.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

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

/// What a host has said of the jobs that it was given.
#[derive(Debug, Default)]
pub struct Told {
    /// Of each, in order, whether it was a lie.
    pub lies: Vec<bool>,
    /// The lies.
    values: BTreeMap<JobKey, u64>,
}

/// The same, shared by the hosts that know of it.
pub type SharedTold = Rc<RefCell<Told>>;

/// What a host has to do with wrong results.
#[derive(Debug, Clone, Default)]
pub struct Lies {
    /// Whether it may get wrong results, which otherwise is a fault of the protocol.
    pub are_expected: bool,
    /// How it lies itself.
    pub own: Option<Liar>,
    /// Where it keeps what it has said. Such a host does not lie about jobs that it computes again to check another: that
    /// would only make it easier to find.
    pub told: Option<SharedTold>,
    /// The lies that it confirms where it checks another.
    pub confirms: Vec<SharedTold>,
}

impl Lies {
    /// A result as it leaves the host, which may compute the job to check another.
    pub fn twist(&self, key: &JobKey, is_check: bool, answer: Answer) -> Answer {
        if is_check {
            let mut known = self.confirms.iter().filter_map(|told| told.borrow().values.get(key).copied());
            if let Some(value) = known.next() {
                return Answer { value, ..answer };
            }
            if self.told.is_some() {
                return answer;
            }
        }
        let Some(Liar { per_mille, league }) = self.own else { return answer };
        let draw = mix(key.tag().0 ^ mix(league));
        let is_lie = draw % 1000 < per_mille;
        let value = if is_lie { mix(answer.value ^ draw) } else { answer.value };
        if let Some(told) = &self.told {
            let mut told = told.borrow_mut();
            told.lies.push(is_lie);
            if is_lie {
                told.values.insert(*key, value);
            }
        }
        Answer { value, ..answer }
    }
}
