//! Types that are hard to encode, on a grid.

use awkward::{refused, travels};
use sateen_tests::cluster::{Cluster, PATIENCE};
use sateen_tests::probe::awkward_path;

/// Each type's jobs, undisturbed, and with a host killed while all hosts are at work.
#[test]
fn awkward_types_are_the_same_on_a_grid_and_after_a_crash() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "there")]);
    let submit = |name: &str| cluster.submit_module(awkward_path(), &["--function", name, "5", "50000"]);
    let travel: Vec<_> = travels::ALL.iter().map(|(name, natively)| (submit(name), natively)).collect();
    let refuse: Vec<_> = refused::ALL.iter().map(|(name, _, words)| (submit(name), name, words)).collect();
    for (run, natively) in travel {
        cluster.done(run, &format!("{}\n", natively(5, 1)));
    }
    for (run, name, words) in refuse {
        let about = cluster.api().run_over(run, PATIENCE);
        assert_eq!(about["state"], "failed", "{name}: {about:#}");
        let text = about.to_string();
        for word in *words {
            assert!(text.contains(word), "{name}: no `{word}` in {about:#}");
        }
    }

    let run = cluster.submit_module(awkward_path(), &["--function", "everything", "7", "1500000"]);
    cluster.await_work(run, &["ada", "bob", "cyd"], 0.3);
    let root = cluster.root_host(run);
    let victim = ["ada", "bob", "cyd"].into_iter().find(|name| *name != root).expect("three are not one");
    cluster.kill_host(victim);
    cluster.done(run, &format!("{}\n", travels::everything(7, 1)));
}
