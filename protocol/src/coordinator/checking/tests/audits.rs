//! What only runs that are audited need.

use std::collections::BTreeMap;

use super::*;

/// A host that has just been asked to check units.
fn next_checker(grid: &Grid, links: &[LinkId]) -> LinkId {
    let is_new =
        |link: &LinkId| check_of(grid, *link).is_some_and(|check| number_of(grid, *link, check).is_none());
    links.iter().copied().find(is_new).expect("another is asked")
}

/// The last one that could be asked leaves: nobody looked at the run any more, which continued without end.
#[test]
fn a_dispute_in_which_no_other_owner_can_be_asked_is_settled_by_the_majority() {
    let (mut grid, links) = grid_of(Trust::Audit(1_000_000), &[1, 2, 3, 4]);
    finish_root(&mut grid, links[0], 7);
    for value in [9, 7] {
        let checker = next_checker(&grid, &links);
        answer(&mut grid, checker, value);
    }
    assert_eq!(grid.ends, [], "a third is asked");
    let third = next_checker(&grid, &links);
    grid.tell(third, ToCoordinator::Leaving);
    assert_eq!(grid.ends, [(RUN, RunEnd::Finished(finished(7)))]);
    let checked = grid.machine.run_over(RUN).and_then(|view| view.checked()).expect("it was checked");
    assert_eq!((checked.units_checked, checked.barred.len()), (1, 1));
}

/// The units of one host, each with the results below it that it took from elsewhere. What each finds is its number.
const TREE: [(u8, &[u8]); 5] = [(5, &[]), (6, &[]), (4, &[5, 6]), (3, &[4]), (7, &[])];

/// Each check of these hosts ends; returns, for each run in which they check, the units that each was given there, and the results.
fn check_all(grid: &mut Grid, links: &[LinkId]) -> BTreeMap<RunId, (Vec<u8>, Vec<u8>)> {
    let mut given: BTreeMap<RunId, (Vec<u8>, Vec<u8>)> = BTreeMap::new();
    let mut seen = BTreeMap::new();
    loop {
        let mut is_quiet = true;
        for link in links {
            let from = seen.entry(*link).or_insert(0);
            let news = grid.said.get(link).map_or(&[][..], |said| &said[*from..]).to_vec();
            *from += news.len();
            for message in news {
                is_quiet = false;
                match message {
                    ToHost::StartRun { run, .. } if run != RUN => {
                        grid.tell(*link, ToCoordinator::Ready { run });
                    }
                    ToHost::Entries { run, entries } => {
                        given.entry(run).or_default().1.extend(entries.iter().map(|entry| entry.key.0[0]));
                    }
                    ToHost::Assign { run, number, spec, .. } if run != RUN => {
                        given.entry(run).or_default().0.push(spec.key.0[0]);
                        let finished = finished(spec.key.0[0]);
                        grid.tell(*link, ToCoordinator::RootFinished { run, number, finished });
                    }
                    _ => {}
                }
            }
        }
        if is_quiet {
            return given;
        }
    }
}

/// What a unit is checked with may be a lie: a host that had been given it took it for the result of another unit that it checked.
#[test]
fn results_are_given_to_the_checker_of_one_unit_only() {
    let (mut grid, links) = grid_of(Trust::Audit(1_000_000), &[1, 2, 3]);
    for (number, below) in TREE {
        let depth = 10 - u32::from(number);
        let children = below.iter().map(|child| UnitChild {
            key: JobKey([*child; 32]),
            depth: depth + 1,
            result: finished(*child).outcome.hash(),
        });
        let job = JobSpec { key: JobKey([number; 32]), depth, ..root_job(&spec()) };
        let (children, finished) = (children.collect(), finished(number));
        let result = finished.outcome.hash();
        let unit = Unit { job, result, work_ns: 1_000, children, outcome: Some(finished.outcome) };
        grid.tell(links[2], ToCoordinator::Unit { run: RUN, unit: Box::new(unit) });
    }
    let given = check_all(&mut grid, &links[..2]);
    let mut checked: Vec<u8> = given.values().flat_map(|(units, _)| units.clone()).collect();
    checked.sort_unstable();
    assert_eq!(checked, [3, 4, 5, 6, 7]);
    for (units, results) in given.values() {
        let expected = TREE.iter().find(|(number, below)| units.contains(number) && !below.is_empty());
        match expected {
            Some((number, below)) => assert_eq!((&units[..], &results[..]), (&[*number][..], *below)),
            None => assert!(results.is_empty(), "{units:?} with {results:?}"),
        }
    }
}

/// It had begun to load the app before it was found to lie, and got the root.
#[test]
fn a_host_that_has_lied_is_not_given_the_root_when_it_is_ready() {
    let (mut grid, links) = grid_of(Trust::Audit(1_000_000), &[1, 2, 3, 4]);
    assert!(grid.root(links[0]).is_some());
    let lie = Unit { job: JobSpec { key: JobKey([4; 32]), ..root_job(&spec()) }, ..unit(9) };
    let lie = Unit { outcome: Some(finished(9).outcome), ..lie };
    grid.tell(links[3], ToCoordinator::Unit { run: RUN, unit: Box::new(lie) });
    let identity = grid.identity(links[3]);
    for _ in 0..3 {
        let checker = next_checker(&grid, &links[..3]);
        answer(&mut grid, checker, 7);
    }
    assert!(grid.is_closed(links[3]), "it lies");
    // It comes back with what it had.
    let [name, site, version] = ["one", "here", "0"].map(str::to_owned);
    let report = HostReport { name, site, threads: 1, version, direct: None, key: PublicKey([4; 32]) };
    let was = Some(identity);
    let back = LinkId(500);
    grid.tell(back, ToCoordinator::Hello { report, was, incarnation: 0, roots: Vec::new(), paused: None });
    let stopped = |message: &ToHost| matches!(message, ToHost::StopRun { run } if *run == RUN).then_some(());
    assert!(grid.last(back, stopped).is_some());
    grid.tell(back, ToCoordinator::Ready { run: RUN });
    for link in &links[..3] {
        grid.tell(*link, ToCoordinator::Unready { run: RUN, reason: "no memory".to_owned() });
    }
    grid.advance(2_000, &[&links[..3], &[back]].concat());
    assert!(grid.root(back).is_none());
}
