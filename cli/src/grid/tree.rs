//! `sateen tree`: a run's jobs, each below the one that spawned it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use sateen_api::{Node, Run, Tree};
use sateen_command_line::{localised, wrap};

use super::client::Client;
use super::columns::seconds;
use crate::exit::{Failure, say, visible};
use crate::files::{print, print_json};
use crate::flags::Tree as Flags;

pub fn tree(flags: &Flags) -> Result<(), Failure> {
    let client = Client::new(&flags.of.grid)?;
    let answer = client.get(&format!("/api/v1/runs/{}/tree", flags.of.run))?;
    if flags.of.json {
        return print_json(&answer);
    }
    let tree: Tree = client.read(&answer)?;
    if tree.nodes.is_empty() && tree.left_out == 0 {
        let run: Run = client.read(&client.get(&format!("/api/v1/runs/{}", flags.of.run))?)?;
        say(why_empty(&run));
    }
    let drawing = Drawing::of(&tree, flags.depth, flags.width);
    print(drawing.text(wrap::width()).as_bytes())
}

/// Why a run has no jobs to draw.
fn why_empty(run: &Run) -> String {
    let why = match &run.waiting_for {
        Some(why) => format!(": {}", localised(why)),
        None => String::new(),
    };
    let Run { run: number, state, .. } = run;
    if run.is_over() {
        format!("run {number} ended before its root job began")
    } else {
        format!("run {number} is {state}, and none of its jobs is known yet{why}")
    }
}

/// The children of each job, by its id; the root is the child of no job.
type Children<'a> = BTreeMap<&'a str, Vec<&'a Node>>;

struct Drawing<'a> {
    children: Children<'a>,
    depth: usize,
    width: usize,
    text: String,
}

impl<'a> Drawing<'a> {
    fn of(tree: &'a Tree, depth: usize, width: usize) -> Self {
        let known: BTreeSet<&str> = tree.nodes.iter().map(|node| node.job.as_str()).collect();
        let mut children = Children::new();
        for node in &tree.nodes {
            // A job whose parent was left out is at the top.
            let parent =
                node.parent.as_deref().filter(|parent| known.contains(parent) && *parent != node.job);
            children.entry(parent.unwrap_or_default()).or_default().push(node);
        }
        let mut drawing = Self { children, depth, width, text: String::new() };
        drawing.draw("", 0);
        if tree.left_out > 0 {
            let _ = writeln!(drawing.text, "{} more jobs were left out by the coordinator", tree.left_out);
        }
        drawing
    }

    /// For a terminal of `width` columns, if it is one: a line continues below its job's name.
    fn text(&self, width: Option<usize>) -> String {
        let Some(width) = width else { return self.text.clone() };
        let lines = self.text.lines().flat_map(|line| {
            let indent = line.len() - line.trim_start().len();
            wrap::wrap(line, indent + 4, width)
        });
        lines.map(|line| line + "\n").collect()
    }

    /// Draws the children of `parent`. Drawn children are removed, so that a cycle ends.
    fn draw(&mut self, parent: &str, level: usize) {
        let Some(children) = self.children.remove(parent) else { return };
        let indent = "  ".repeat(level);
        if level >= self.depth {
            let _ = writeln!(self.text, "{indent}0 of {} shown; --depth shows more", children.len());
            return;
        }
        for node in children.iter().take(self.width) {
            let _ = writeln!(self.text, "{indent}{}", visible(&line(node)));
            self.draw(&node.job, level + 1);
        }
        if children.len() > self.width {
            let _ =
                writeln!(self.text, "{indent}{} of {} shown; --width shows more", self.width, children.len());
        }
    }
}

fn line(node: &Node) -> String {
    let host = if node.host_name.is_empty() { &node.host } else { &node.host_name };
    let what = node.call.as_ref().unwrap_or(&node.function);
    let mut line = format!("{what} {}", node.job);
    if !host.is_empty() {
        // Such a job is at no host any more.
        let at = if ["lost", "given back"].contains(&node.state.as_str()) { ", last @" } else { " @" };
        line = format!("{line}{at} {host}");
    }
    line = format!("{line}: {}", node.state);
    if node.redone {
        line.push_str(", redone");
    }
    if let Some(work) = node.work_s.filter(|work| *work > 0.0) {
        line = format!("{line}, {}", seconds(work));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::super::view::read;
    use super::*;
    use serde_json::json;

    fn drawn(nodes: serde_json::Value, depth: usize, width: usize) -> String {
        let tree: Tree = read(&json!({"nodes": nodes, "left_out": 2})).expect("a tree");
        Drawing::of(&tree, depth, width).text
    }

    fn node(job: &str, parent: Option<&str>) -> serde_json::Value {
        json!({"job": job, "parent": parent, "function": "f", "depth": 0, "host": "h1", "host_name": "h",
               "state": "done", "redone": job == "b", "work_s": 0.5})
    }

    #[test]
    fn children_stand_below_their_parents() {
        let nodes = json!([
            node("main", None),
            node("a", Some("main")),
            node("b", Some("main")),
            node("c", Some("a"))
        ]);
        assert_eq!(
            drawn(nodes.clone(), 8, 8),
            "f main @ h: done, 500 ms\n  f a @ h: done, 500 ms\n    f c @ h: done, 500 ms\n  f b @ h: done, redone, 500 ms\n\
             2 more jobs were left out by the coordinator\n"
        );
        let tree: Tree = read(&json!({"nodes": nodes, "left_out": 2})).expect("a tree");
        let terminal = Drawing::of(&tree, 8, 8).text(Some(24));
        assert!(terminal.lines().all(|line| line.len() <= 24), "{terminal}");
        assert!(terminal.contains("\n    f c @ h: done, 500\n        ms\n"), "{terminal}");
        let narrow = drawn(nodes.clone(), 8, 1);
        assert!(narrow.contains("  1 of 2 shown; --width shows more\n"), "{narrow}");
        let flat = drawn(nodes, 2, 8);
        assert!(flat.contains("    0 of 1 shown; --depth shows more\n") && !flat.contains("c @"), "{flat}");
    }

    #[test]
    fn a_job_is_shown_with_its_parameters_where_they_are_known() {
        let mut job = node("main", None);
        job["call"] = "f(Board { size: 8 }, 3)".into();
        assert!(drawn(json!([job]), 8, 8).starts_with("f(Board { size: 8 }, 3) main @ h"));
    }

    #[test]
    fn an_empty_tree_is_explained() {
        let why = |state: &str, waiting_for: Option<&str>| {
            let run = json!({"run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": state,
                             "waiting_for": waiting_for});
            why_empty(&read(&run).expect("a run"))
        };
        assert_eq!(
            why("queued", Some("no host is connected")),
            "run 7 is queued, and none of its jobs is known yet: no host is connected"
        );
        assert_eq!(why("running", None), "run 7 is running, and none of its jobs is known yet");
        assert_eq!(why("cancelled", None), "run 7 ended before its root job began");
    }

    #[test]
    fn jobs_without_a_parent_and_circles_do_no_harm() {
        let orphan = drawn(json!([node("b", Some("unknown"))]), 8, 8);
        assert!(orphan.starts_with("f b @ h"), "{orphan}");
        let circle = drawn(json!([node("a", Some("b")), node("b", Some("a"))]), 8, 8);
        assert!(circle.starts_with("2 more"), "{circle}");
    }
}
