use super::*;

fn plan() -> TreePlan {
    TreePlan {
        seed: 7,
        jobs: 1000,
        work_ns: 1_000_000_000,
        children_max: 4,
        share_percent_max: 80,
        heavy_per_mille: 10,
        ..TreePlan::default()
    }
}

fn answer(tree: &Tree, node: NodeIndex) -> u64 {
    let needed = match tree.node(node).decisive {
        None => 0..tree.node(node).children,
        Some(child) => child..child + 1,
    };
    let children = needed.map(|child| answer(tree, tree.child(node, child as usize)));
    tree.combine(node, children)
}

#[test]
fn a_decisive_child_makes_others_useless() {
    let tree = Tree::new(&TreePlan { decisive_per_mille: 300, ..plan() });
    assert!(tree.has_decisive());
    let root = tree.root();
    assert_eq!(root.answer, answer(&tree, 0));
    assert!(root.least_ns < root.work_ns && root.work_ns < root.most_ns, "{root:?}");
    let without = Tree::new(&plan());
    let root = without.root();
    assert_eq!((root.least_ns, root.most_ns), (root.work_ns, root.work_ns));
}

#[test]
fn totals_match_the_plan() {
    let tree = Tree::new(&plan());
    assert_eq!(tree.root().jobs, 1000);
    let difference = tree.root().work_ns.abs_diff(1_000_000_000);
    assert!(difference < 2000, "{difference} ns off the plan");
    assert!(tree.root().span_ns < tree.root().work_ns);
    assert_eq!(tree.root().answer, answer(&tree, 0));
}

#[test]
fn twins_have_equal_answers() {
    let tree = Tree::new(&TreePlan { twins_per_mille: 300, ..plan() });
    assert_eq!(tree.root().answer, answer(&tree, 0));
    assert!(tree.root().work_ns.abs_diff(1_000_000_000) < 2000);
    assert!((1..tree.root().most_ns).contains(&tree.twins_ns()));
    assert_eq!(Tree::new(&plan()).twins_ns(), 0);
}
