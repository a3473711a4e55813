use std::collections::BTreeMap;

use sateen_protocol::message::{JobNote, NoteKind};
use sateen_protocol::{HostId, JobTag, ROOT_KIND};

use super::*;
use crate::chronicle::{RECORD_BYTES, Source};

const ROOM: usize = 500;
const HOST: Source<'static> = Source { id: HostId(1), name: "one", site: "here" };

/// A page that watches a tree.
struct Page {
    client: TreeClient,
    records: BTreeMap<u32, Vec<u8>>,
}

impl Page {
    fn new() -> Self {
        Self { client: TreeClient::new(), records: BTreeMap::new() }
    }

    /// Takes in all frames of the news.
    fn look(&mut self, news: &TreeNews) {
        while let Some((frame, is_all)) = self.client.next(news) {
            let u32_at = |at: usize| u32::from_le_bytes(frame[at..at + 4].try_into().expect("four"));
            let first = (HEADER_BYTES + 4 + u32_at(HEADER_BYTES) as usize).next_multiple_of(8);
            if u32_at(8) == 0 {
                self.records.clear();
            }
            for record in frame[first..].chunks_exact(RECORD_BYTES) {
                let place = u32::from_le_bytes(record[..4].try_into().expect("four"));
                self.records.insert(place, record.to_vec());
            }
            if is_all {
                return;
            }
        }
    }
}

fn note(job: u64, what: NoteKind) -> JobNote {
    let parent = (job > 0).then_some(JobTag(job / 2));
    let kind = if job == 0 { ROOT_KIND } else { 0 };
    let depth = (job + 1).ilog2();
    JobNote { job: JobTag(job), parent, kind, depth, what, ago_ms: 0, parameters: None, shares: false }
}

/// Some pages see every tick, some only a few: all have the same picture of a tree in which jobs make room for others
/// as a page that has just connected.
#[test]
fn a_page_that_received_changes_has_what_a_new_page_receives() {
    let chronicle = Arc::new(Mutex::new(Chronicle::with_room_for(ROOM)));
    let mut feed = TreeFeed::of(RunId(1), Names::default(), Arc::clone(&chronicle));
    let (mut always, mut sometimes, mut seldom) = (Page::new(), Page::new(), Page::new());
    let mut newest = None;
    for round in 0..300_u64 {
        let (first, last) = (round * 20, round * 20 + 20);
        let begun = NoteKind::Begun { victim: None, redone: false, worker: 0 };
        let mut notes: Vec<JobNote> = (first..last).map(|job| note(job, begun)).collect();
        let ended = (first..last).filter(|job| *job > 100 && job % 7 != 0).map(|job| job - 100);
        notes.extend(ended.map(|job| note(job, NoteKind::Done { work_ns: job })));
        chronicle.lock().expect("unpoisoned").note(HOST, &notes);
        let news = feed.tick().expect("something is new");
        always.look(&news);
        if round % 5 == 0 {
            sometimes.look(&news);
        }
        // Further behind than the changes that are kept.
        if round % (WATCH_TICKS_KEPT as u64 + 20) == 0 {
            seldom.look(&news);
        }
        newest = Some(news);
    }
    let newest = newest.expect("there were rounds");
    let mut newcomer = Page::new();
    for page in [&mut always, &mut sometimes, &mut seldom, &mut newcomer] {
        page.look(&newest);
    }
    assert_eq!(newcomer.records.len(), ROOM);
    for page in [&always, &sometimes, &seldom] {
        assert!(page.records == newcomer.records);
    }
    let table: TreeTable = feed.table.clone().expect("it was reported");
    assert_eq!((table.shown, table.total), (ROOM as u64, 300 * 20));
}
