//! Ids and keys: an id belongs to the key that first used it.

use super::tests::Grid;
use super::*;
use crate::message::{HostReport, ToCoordinator};
use crate::{GridId, PublicKey};

const KEY: PublicKey = PublicKey([1; 32]);
const OTHER: PublicKey = PublicKey([2; 32]);
const LINK: LinkId = LinkId(1);
const LATER: LinkId = LinkId(2);

fn hello(key: PublicKey, was: Option<(HostId, u64, GridId)>) -> ToCoordinator {
    let [name, site, version] = ["one", "here", "0"].map(str::to_owned);
    let report = HostReport { name, site, threads: 1, version, direct: None, key };
    ToCoordinator::Hello { report, was, incarnation: 0, roots: Vec::new(), paused: None }
}

/// Why a link was refused.
fn refusal(grid: &Grid, link: LinkId) -> Option<String> {
    let said = grid.said.get(&link).into_iter().flatten();
    said.filter_map(|message| match message {
        ToHost::Refused { reason } => Some(reason.clone()),
        _ => None,
    })
    .next_back()
}

#[test]
fn a_host_that_comes_back_with_another_key_is_refused_by_name() {
    let mut grid = Grid::new();
    grid.tell(LINK, hello(KEY, None));
    let identity = grid.identity(LINK);
    grid.cut(LINK);
    grid.tell(LATER, hello(OTHER, Some(identity)));
    assert!(grid.is_closed(LATER));
    let why = refusal(&grid, LATER).expect("a reason");
    for word in [identity.0.to_string(), KEY.short(), OTHER.short()] {
        assert!(why.contains(&word), "{word} is not in: {why}");
    }
    let back = LinkId(3);
    grid.tell(back, hello(KEY, Some(identity)));
    assert!(!grid.is_closed(back) && grid.identity(back) == identity, "its own key still counts");
}

/// What the coordinator knows of its hosts is gone, and the secret still belongs to one key.
#[test]
fn after_a_restart_an_id_still_belongs_to_its_key() {
    let mut before = Grid::new();
    before.tell(LINK, hello(KEY, None));
    let identity = before.identity(LINK);
    for (key, is_refused) in [(OTHER, true), (KEY, false)] {
        let mut grid = Grid::of(true, Vec::new());
        grid.tell(LINK, hello(key, Some(identity)));
        assert_eq!(grid.is_closed(LINK), is_refused, "{key}");
        assert_eq!(refusal(&grid, LINK).is_some_and(|why| why.contains("cannot prove it")), is_refused);
    }
}
