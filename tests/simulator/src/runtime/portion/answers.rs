//! Parameters and answers as they travel.

use sateen_protocol::{
    Entry, EntryState, Finished, JobSpec, JobTag, Lineage, MainOutcome, Outcome, ROOT_KIND, Random,
    RootOutcome, RunSpec, limits, root_job,
};

use crate::runtime::task::Answer;
use crate::tree::{NodeIndex, Tree, filled, is_filled};

/// The node of a job; `None` for parameters that no job has.
pub(super) fn node_of(tree: &Tree, spec: &JobSpec) -> Option<NodeIndex> {
    if spec.kind == ROOT_KIND {
        return Some(0);
    }
    let (node, rest) = spec.parameters.split_first_chunk()?;
    let node = NodeIndex::from_le_bytes(*node);
    (spec.parameters.len() == tree.parameter_bytes(node).max(size_of::<NodeIndex>())
        && is_filled(rest, u64::from(node)))
    .then_some(node)
}

/// A result as it travels. Of a job that fails, the failure says what its answer would have been.
pub(super) fn finished(tree: &Tree, spec: &JobSpec, answer: Answer) -> Finished {
    let bytes = node_of(tree, spec).map_or(0, |node| tree.result_bytes(node));
    let outcome = match tree.fails(answer.value) {
        true => Outcome::Failed(answer.value.to_string().into_bytes().into()),
        false => {
            let bytes = filled(&answer.value.to_le_bytes(), answer.value, bytes);
            let is_root = spec.kind == ROOT_KIND;
            Outcome::Done(if is_root { as_of_root(bytes) } else { bytes }.into())
        }
    };
    Finished { outcome, work_ns: answer.work_ns, span_ns: answer.span_ns }
}

/// What earlier runs may have left of a tree: a random part of its jobs, in some of which the jobs above were others.
pub fn earlier_results(tree: &Tree, spec: &RunSpec, random: &mut Random) -> Vec<Entry> {
    let (keys, root) = (tree.keys(), root_job(spec));
    let parameters =
        |node: NodeIndex| filled(&node.to_le_bytes(), u64::from(node), tree.parameter_bytes(node));
    let key = |node: NodeIndex| if node == 0 { root.key } else { keys.key(&parameters(node)) };
    let kept_per_mille = [20, 300, 950][random.below(3)];
    let other_per_mille = [0, 200, 1000][random.below(3)];
    let has_root = random.below(16) == 0;
    let mut entries = Vec::new();
    for node in 0..tree.nodes_len() as NodeIndex {
        let is_kept = random.below(1000) < kept_per_mille;
        if !(if node == 0 { has_root } else { is_kept }) {
            continue;
        }
        let above = tree.above(node);
        let mut tags: Vec<JobTag> = above.iter().map(|above| key(*above).tag()).collect();
        for tag in &mut tags {
            if random.below(1000) < other_per_mille {
                *tag = JobTag(random.next_u64());
            }
        }
        tags.drain(..tags.len().saturating_sub(limits::LINEAGE_LENGTH_MAX));
        let job = match node {
            0 => root.clone(),
            _ => JobSpec::new(key(node), 0, parameters(node)),
        };
        let about = tree.node(node);
        let answer =
            Answer { value: about.answer, work_ns: about.work_ns, span_ns: about.span_ns, unrecorded_ns: 0 };
        entries.push(Entry {
            key: job.key,
            depth: above.len() as u32,
            lineage: Lineage(tags),
            state: EntryState::Done(finished(tree, &job, answer)),
            is_earlier: false,
        });
    }
    entries
}

/// A root's result, as the ABI has it.
fn as_of_root(bytes: Vec<u8>) -> Vec<u8> {
    postcard::to_allocvec(&MainOutcome::Bytes(bytes)).unwrap_or_default()
}

/// The answer in the result of a root, if it is one.
pub fn read_root_answer(finished: &Finished) -> Option<u64> {
    match RootOutcome::of(finished) {
        RootOutcome::Main(MainOutcome::Bytes(bytes)) => read_answer(&Outcome::Done(bytes.into())),
        _ => None,
    }
}

/// The answer in an outcome, if it is one.
pub(super) fn read_answer(outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Done(bytes) => {
            let (answer, rest) = bytes.split_first_chunk()?;
            let answer = u64::from_le_bytes(*answer);
            is_filled(rest, answer).then_some(answer)
        }
        Outcome::Failed(failure) => str::from_utf8(failure).ok()?.parse().ok(),
    }
}
