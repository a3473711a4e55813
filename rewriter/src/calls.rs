//! Which functions' entries poll, so that no chain of calls is long without a check.

use std::collections::HashMap;

/// Instructions, in all calls below a function that do not poll, from which on it polls.
const UNCHECKED_MAX: u64 = 1_000_000;

/// A call of a function.
#[derive(Debug, Clone, Copy)]
pub enum Call {
    /// Of the function with code that has this number.
    To(usize),
    /// Of any function in a table that has this type.
    OfType(u32),
}

/// A function with code.
#[derive(Debug, Default)]
pub struct Node {
    /// Its calls, in the order of its code.
    pub calls: Vec<Call>,
    /// The number of its instructions.
    pub instructions: u64,
}

/// The module's functions with code, and their calls.
///
/// A call through a table may reach any function there of its type. A node for each type stands between the two, so
/// that there are not as many edges as pairs.
pub struct CallGraph<'a> {
    functions: &'a [Node],
    /// The functions of each type that are in tables.
    types: Vec<Vec<usize>>,
    /// By type, its place in `types`.
    places: HashMap<u32, usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    /// On the present path.
    Open,
    Done,
}

impl<'a> CallGraph<'a> {
    /// The graph of these functions; `in_tables` has the type and the number of each that is in a table.
    pub fn new(functions: &'a [Node], in_tables: impl Iterator<Item = (u32, usize)>) -> Self {
        let mut graph = Self { functions, types: Vec::new(), places: HashMap::new() };
        for (ty, function) in in_tables {
            let place = *graph.places.entry(ty).or_insert(graph.types.len());
            if place == graph.types.len() {
                graph.types.push(Vec::new());
            }
            graph.types[place].push(function);
        }
        graph
    }

    /// The node that a node's edge with this number leads to, if it leads to one with code. `None` behind the last.
    fn next(&self, node: usize, edge: usize) -> Option<Option<usize>> {
        match node.checked_sub(self.functions.len()) {
            Some(place) => self.types[place].get(edge).map(|function| Some(*function)),
            None => self.functions[node].calls.get(edge).map(|call| match call {
                Call::To(function) => Some(*function),
                Call::OfType(ty) => self.places.get(ty).map(|place| self.functions.len() + place),
            }),
        }
    }

    /// By function, whether its entry polls: of each cycle of calls at least one that a search in depth finds open,
    /// and those below which much would be unchecked.
    pub fn polling_entries(&self) -> Vec<bool> {
        let count = self.functions.len();
        let mut polls = vec![false; count];
        let mut visits = vec![Visit::New; count + self.types.len()];
        // Instructions in calls of a node without a check, as far as they are known.
        let mut cost = vec![0_u64; count + self.types.len()];
        let mut path = Vec::new();
        for root in 0..count {
            if visits[root] == Visit::New {
                visits[root] = Visit::Open;
                path.push((root, 0));
            }
            while let Some((node, edge)) = path.last_mut() {
                let (node, to) = (*node, self.next(*node, *edge));
                *edge += 1;
                match to {
                    Some(None) => {}
                    Some(Some(to)) => match visits[to] {
                        Visit::New => {
                            visits[to] = Visit::Open;
                            path.push((to, 0));
                        }
                        // A cycle is closed.
                        Visit::Open => match to.checked_sub(count) {
                            None => polls[to] = true,
                            Some(place) => {
                                for function in &self.types[place] {
                                    polls[*function] = true;
                                }
                            }
                        },
                        Visit::Done => self.add(&mut cost, node, to),
                    },
                    None => {
                        path.pop();
                        visits[node] = Visit::Done;
                        if let Some(function) = self.functions.get(node) {
                            cost[node] = cost[node].saturating_add(function.instructions);
                            polls[node] |= cost[node] > UNCHECKED_MAX;
                            if polls[node] {
                                cost[node] = 0;
                            }
                        }
                        if let Some((above, _)) = path.last() {
                            self.add(&mut cost, *above, node);
                        }
                    }
                }
            }
        }
        polls
    }

    /// Adds the cost of a call from one node to another. Through a table, one of the functions is called.
    fn add(&self, cost: &mut [u64], from: usize, to: usize) {
        cost[from] = if from < self.functions.len() {
            cost[from].saturating_add(cost[to])
        } else {
            cost[from].max(cost[to])
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polling(calls: &[&[Call]], in_tables: &[(u32, usize)]) -> Vec<usize> {
        let functions: Vec<Node> =
            calls.iter().map(|calls| Node { calls: calls.to_vec(), instructions: 10 }).collect();
        let polls = CallGraph::new(&functions, in_tables.iter().copied()).polling_entries();
        (0..polls.len()).filter(|function| polls[*function]).collect()
    }

    #[test]
    fn one_function_of_each_cycle_polls() {
        use Call::To;
        assert_eq!(polling(&[&[To(0)]], &[]), [0]);
        assert_eq!(polling(&[&[To(1)], &[To(2)], &[To(0)]], &[]), [0]);
        assert_eq!(
            polling(&[&[To(1), To(2)], &[To(3)], &[To(3)], &[]], &[]),
            [0; 0],
            "a diamond is not a cycle"
        );
        assert_eq!(polling(&[&[To(1)], &[To(2)], &[To(1), To(2)]], &[]), [1, 2]);
    }

    #[test]
    fn cycles_through_tables_poll() {
        use Call::{OfType, To};
        // Function 0 calls any of type 7, and is one of them.
        assert_eq!(polling(&[&[OfType(7)], &[]], &[(7, 0)]), [0]);
        // Another type, or none in a table.
        assert_eq!(polling(&[&[OfType(7)], &[]], &[(8, 0)]), [0; 0]);
        // Functions 1 and 2 are of type 7; 2 calls 0, which calls any of them.
        let polls = polling(&[&[OfType(7)], &[], &[To(0)]], &[(7, 1), (7, 2)]);
        assert_eq!(polls, [0]);
        let polls = polling(&[&[], &[OfType(7)], &[OfType(7)]], &[(7, 1), (7, 2)]);
        assert!(polls.contains(&1) && polls.contains(&2));
    }

    #[test]
    fn trees_of_calls_that_double_at_each_level_poll_now_and_then() {
        let calls: Vec<Vec<Call>> =
            (0..40).map(|level| if level == 0 { vec![] } else { vec![Call::To(level - 1); 2] }).collect();
        let calls: Vec<&[Call]> = calls.iter().map(Vec::as_slice).collect();
        let polls = polling(&calls, &[]);
        assert!(polls.len() >= 2 && polls.windows(2).all(|pair| pair[1] - pair[0] <= 18), "{polls:?}");
    }
}
