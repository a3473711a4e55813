//! A graph with weights, read from lines `FROM TO WEIGHT`, and the lengths of shortest ways in it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use sateen::{BadInput, Job, JobSet};

/// A graph without directions.
pub struct Graph {
    /// By node: where its edges begin. The last number is the end of all.
    starts: Vec<usize>,
    /// Each edge's other node and weight.
    edges: Vec<(u32, u32)>,
}

impl Graph {
    /// Reads the input `graph`.
    ///
    /// # Errors
    /// If it is missing, or a line is not that of an edge.
    pub fn read() -> Result<Self, BadInput> {
        let text = sateen::input_text("graph")?;
        let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
        let mut lines = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let mut words = line.split(' ');
            let mut next = || words.next().ok_or("it has no more words");
            let edge = (|| {
                let (from, to) = (next()?, next()?);
                let weight = next()?.parse::<u32>().map_err(|_| "its weight is not a number")?;
                Ok::<_, &str>((from, to, weight))
            })();
            let (from, to, weight) = edge.map_err(|why| BadInput::at_line("graph", number + 1, why))?;
            let mut node = |name| {
                let next = numbers.len() as u32;
                *numbers.entry(name).or_insert(next)
            };
            lines.push((node(from), node(to), weight));
        }
        Ok(Self::of(numbers.len(), &lines))
    }

    fn of(nodes: usize, lines: &[(u32, u32, u32)]) -> Self {
        let mut starts = vec![0; nodes + 1];
        for (from, to, _) in lines {
            starts[*from as usize + 1] += 1;
            starts[*to as usize + 1] += 1;
        }
        (0..nodes).for_each(|node| starts[node + 1] += starts[node]);
        let mut places = starts.clone();
        let mut edges = vec![(0, 0); 2 * lines.len()];
        for (from, to, weight) in lines {
            for (node, other) in [(*from, *to), (*to, *from)] {
                edges[places[node as usize]] = (other, *weight);
                places[node as usize] += 1;
            }
        }
        Self { starts, edges }
    }

    /// The sum of the lengths of the shortest ways from these nodes to all that can be reached (Dijkstra 1959).
    pub fn lengths_from(&self, nodes: impl Iterator<Item = u64>) -> u64 {
        let count = self.starts.len() as u64 - 1;
        nodes.map(|node| self.lengths_from_node((node % count) as u32)).fold(0, u64::wrapping_add)
    }

    fn lengths_from_node(&self, from: u32) -> u64 {
        let mut lengths = vec![u64::MAX; self.starts.len() - 1];
        lengths[from as usize] = 0;
        let mut open = BinaryHeap::from([Reverse((0, from))]);
        while let Some(Reverse((length, node))) = open.pop() {
            if length > lengths[node as usize] {
                continue;
            }
            for (other, weight) in &self.edges[self.starts[node as usize]..self.starts[node as usize + 1]] {
                let length = length + u64::from(*weight);
                if length < lengths[*other as usize] {
                    lengths[*other as usize] = length;
                    open.push(Reverse((length, *other)));
                }
            }
        }
        lengths.into_iter().filter(|length| *length < u64::MAX).fold(0, u64::wrapping_add)
    }
}

/// The sum of the results of a set.
pub fn sum<J: Job<Output = u64>>(mut set: JobSet<J>) -> u64 {
    let mut sum = 0_u64;
    while let Some((_, lengths)) = set.next() {
        sum = sum.wrapping_add(lengths);
    }
    sum
}
