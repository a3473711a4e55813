//! Trees.

use sateen_api::{CriticalJob, Node, Tree, TreeHost, TreeTable};

use crate::chronicle::{self, Chronicle, Names};
use crate::limits::{CRITICAL_PATH_MAX, TREE_NODES_IN_JSON_MAX};

/// Length of a job's call where many are listed, about.
const CALL_BYTES_IN_TREE: usize = 120;

/// Id, name and site of a host of the tree's table. Names tell apart processes of one name.
pub fn host_at(chronicle: &Chronicle, place: u32) -> (String, String, String) {
    let host = chronicle.host_at(place);
    host.map_or_else(Default::default, |host| (host.id.to_string(), host.label(), host.site.clone()))
}

/// How much of the tree is shown.
pub fn table(chronicle: &Chronicle, names: &Names) -> TreeTable {
    let extent = chronicle.extent();
    TreeTable {
        hosts: None,
        kinds: None,
        shown: extent.kept,
        total: extent.begun,
        left_out: extent.left_out,
        entry_point: names.entry_point.clone(),
    }
}

/// A host of the tree's table.
pub fn host_of_tree(host: &chronicle::TreeHost) -> TreeHost {
    TreeHost { id: host.id.to_string(), name: host.label(), site: host.site.clone() }
}

/// The tree's first jobs.
pub fn tree(chronicle: &Chronicle, names: &Names) -> Tree {
    let nodes = (0_u32..).zip(chronicle.shown(0, TREE_NODES_IN_JSON_MAX)).map(|(place, job)| {
        let (host, host_name, _) = host_at(chronicle, job.host);
        let parameters = chronicle.parameters(place).ok().filter(|_| !job.is_root());
        Node {
            job: job.job.to_string(),
            parent: job.parent.map(|parent| parent.to_string()),
            function: names.of(job.kind).to_owned(),
            call: parameters.and_then(|bytes| names.call(job.kind, bytes, CALL_BYTES_IN_TREE)),
            depth: u32::from(job.depth),
            host,
            host_name,
            state: job.state.to_owned(),
            redone: job.redone,
            work_s: job.work_s,
            begun_ms: job.begun_ms,
            ended_ms: job.ended_ms,
            worker: job.worker,
            rolled: job.rolled,
        }
    });
    let nodes: Vec<Node> = nodes.collect();
    let extent = chronicle.extent();
    let not_sent = extent.kept.saturating_sub(nodes.len() as u64);
    Tree { nodes, left_out: extent.left_out.saturating_add(not_sent) }
}

/// The critical path, as far as it is known.
pub fn critical_path(chronicle: &Chronicle, names: &Names) -> Vec<CriticalJob> {
    let path = chronicle.critical_path(CRITICAL_PATH_MAX).into_iter().map(|job| CriticalJob {
        job: job.job.to_string(),
        function: names.of(job.kind).to_owned(),
        work_s: job.work_s,
        host: host_at(chronicle, job.host).1,
        begun_ms: job.begun_ms,
        ended_ms: job.ended_ms,
    });
    path.collect()
}

#[cfg(test)]
mod tests {
    use sateen_module::JobShape;
    use sateen_protocol::message::{JobNote, NoteKind};
    use sateen_protocol::{HostId, JobTag};

    use super::*;
    use crate::api::shown::job;
    use crate::chronicle::Source;

    const HOST: Source<'static> = Source { id: HostId(1), name: "one", site: "here" };

    fn begun(job: u64, kind: u32, parameters: &[u8]) -> JobNote {
        JobNote {
            job: JobTag(job),
            parent: (job > 1).then_some(JobTag(1)),
            kind,
            depth: u32::from(job > 1),
            what: NoteKind::Begun { victim: None, redone: false, worker: 0 },
            ago_ms: 0,
            parameters: Some(parameters.to_vec()),
            shares: false,
        }
    }

    #[test]
    fn a_job_is_a_call_where_its_shape_is_known() {
        let mut chronicle = Chronicle::default();
        let long = [&[200, 1][..], &[7; 200]].concat();
        let notes = [begun(2, 0, &[3, 1]), begun(3, 1, &[9]), begun(4, 0, &[3]), begun(5, 2, &long)];
        chronicle.note(HOST, &notes);
        let names = Names {
            kinds: ["f", "g", "h"].map(str::to_owned).to_vec(),
            entry_point: "main".to_owned(),
            shapes: vec![JobShape::parse("(u8,?()) -> _"), None, JobShape::parse("([u8]) -> u8")],
        };
        let tree = tree(&chronicle, &names);
        let calls: Vec<_> = tree.nodes.iter().map(|node| node.call.as_deref()).collect();
        assert_eq!(calls[0], Some("f(3, Some(()))"));
        assert_eq!(calls[1..3], [None, None], "nothing is known of it, and what does not fit");
        assert!(calls[3].is_some_and(|call| call.starts_with("h([7, 7, ") && call.len() < 150), "{calls:?}");
        let text = |tag| job(&chronicle, JobTag(tag), &names, &[]).and_then(|job| job.parameters_text);
        assert!(text(5).is_some_and(|call| call.ends_with(", 7])") && call.len() > 500));
    }

    #[test]
    fn a_job_is_shown_in_words() {
        let mut chronicle = Chronicle::default();
        chronicle.note(HOST, &[begun(1, 7, &[]), begun(2, 0, &[])]);
        chronicle.left_out(3);
        let names = Names { kinds: vec!["f".to_owned()], ..Names::default() };
        let tree = tree(&chronicle, &names);
        let node = &tree.nodes[1];
        let known = (node.job.as_str(), node.parent.as_deref(), node.function.as_str(), node.state.as_str());
        assert_eq!(known, ("0000000000000002", Some("0000000000000001"), "f", "running"));
        assert_eq!((node.host.as_str(), node.host_name.as_str(), tree.left_out), ("h1", "one", 3));
    }
}
