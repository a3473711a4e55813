//! Which loops come to their head again without a poll on the way.

use wasmparser::{FunctionBody, Operator};

use crate::Error;
use crate::survey::BulkPolls;

/// A block around the present instruction.
struct Block {
    /// Its number among the function's loops and the number of loops around it, if it is a loop.
    of_loop: Option<(usize, usize)>,
    /// See [`Path`]: what the jumps to its end agree on.
    at_end: Path,
    /// At the beginning, if it is an `if` that has no `else` yet.
    at_if: Option<Path>,
}

/// The ways to an instruction: the loops around it in which each of them has polled since the loop's head. As a poll
/// counts for all loops around it, these are the outermost ones, and their number says which. [`NONE`] if no way leads to
/// the instruction.
type Path = usize;
const NONE: Path = usize::MAX;

/// For each loop, in the order of the code: whether a turn is possible that does not poll. `polls` says of a function,
/// by its index, whether its entry polls.
pub fn unchecked_loops(body: &FunctionBody<'_>, polls: impl Fn(u32) -> bool) -> Result<Vec<bool>, Error> {
    let mut unchecked = Vec::new();
    let whole = Block { of_loop: None, at_end: NONE, at_if: None };
    let (mut around, mut path, mut loops_around) = (vec![whole], 0, 0);
    let mut bulk = BulkPolls::default();
    for operator in body.get_operators_reader()? {
        let operator = operator?;
        let is_poll = bulk.come_before(&operator)
            || matches!(operator, Operator::Call { function_index } if polls(function_index));
        let mut jump = |around: &mut Vec<Block>, label: u32, path: Path| {
            let Some(place) = around.len().checked_sub(1 + label as usize) else { return };
            match around[place].of_loop {
                Some((number, outside)) => unchecked[number] |= path <= outside,
                None => around[place].at_end = around[place].at_end.min(path),
            }
        };
        match &operator {
            Operator::Block { .. } => around.push(Block { of_loop: None, at_end: NONE, at_if: None }),
            Operator::If { .. } => around.push(Block { of_loop: None, at_end: NONE, at_if: Some(path) }),
            Operator::Loop { .. } => {
                around.push(Block {
                    of_loop: Some((unchecked.len(), loops_around)),
                    at_end: NONE,
                    at_if: None,
                });
                unchecked.push(false);
                loops_around += 1;
            }
            Operator::Else => {
                if let Some(block) = around.last_mut() {
                    block.at_end = block.at_end.min(path);
                    path = block.at_if.take().unwrap_or(NONE);
                }
            }
            Operator::End => {
                if let Some(block) = around.pop() {
                    path = path.min(block.at_end).min(block.at_if.unwrap_or(NONE));
                    loops_around -= usize::from(block.of_loop.is_some());
                    if path != NONE {
                        path = path.min(loops_around);
                    }
                }
            }
            Operator::Br { relative_depth } => {
                jump(&mut around, *relative_depth, path);
                path = NONE;
            }
            Operator::BrIf { relative_depth } => jump(&mut around, *relative_depth, path),
            Operator::BrTable { targets } => {
                for label in targets.targets() {
                    jump(&mut around, label?, path);
                }
                jump(&mut around, targets.default(), path);
                path = NONE;
            }
            Operator::Return | Operator::Unreachable => path = NONE,
            _ if is_poll && path != NONE => path = loops_around,
            _ => {}
        }
    }
    Ok(unchecked)
}

#[cfg(test)]
mod tests {
    use wasmparser::{Parser, Payload};

    use super::*;

    /// For each loop of the first function, whether it needs a check. A call of function 1 polls, one of 2 does not.
    fn unchecked(code: &str) -> Vec<bool> {
        let text = format!(
            "(module (memory 1) (func (param i32) {code}) (func $polls) (func $quiet) (func (result i32) i32.const 0))"
        );
        let module = wat::parse_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut bodies = Parser::new(0).parse_all(&module).filter_map(|payload| match payload.unwrap() {
            Payload::CodeSectionEntry(body) => Some(body),
            _ => None,
        });
        unchecked_loops(&bodies.next().unwrap(), |function| function == 1).unwrap()
    }

    const IF: &str = "(if (local.get 0) (then";

    #[test]
    fn a_loop_in_which_each_turn_polls_needs_no_check() {
        assert_eq!(unchecked("(loop (call $polls) (br 0))"), [false]);
        assert_eq!(unchecked("(loop (call $quiet) (br 0))"), [true]);
        assert_eq!(unchecked("(loop (br_if 0 (local.get 0)) (call $polls))"), [true], "it is too late");
        assert_eq!(unchecked("(loop (call $polls) (br_if 0 (local.get 0)) (call $quiet) (br 0))"), [false]);
        assert_eq!(
            unchecked("(loop (memory.fill (i32.const 0) (i32.const 0) (local.get 0)) (br 0))"),
            [false]
        );
        assert_eq!(
            unchecked("(loop (memory.fill (i32.const 0) (i32.const 0) (i32.const 5)) (br 0))"),
            [true]
        );
    }

    #[test]
    fn a_loop_without_a_jump_back_needs_no_check() {
        assert_eq!(unchecked("(loop (call $quiet))"), [false]);
        assert_eq!(unchecked("(loop (return) (br 0))"), [false]);
        assert_eq!(unchecked("(loop (unreachable) (br 0))"), [false]);
        assert_eq!(unchecked("(loop (block (loop (br 2))))"), [true, false]);
    }

    #[test]
    fn every_way_through_a_turn_must_poll() {
        assert_eq!(unchecked(&format!("(loop {IF} (call $polls))) (br 0))")), [true]);
        assert_eq!(unchecked(&format!("(loop {IF} (call $polls)) (else (call $quiet))) (br 0))")), [true]);
        assert_eq!(unchecked(&format!("(loop {IF} (call $polls)) (else (call $polls))) (br 0))")), [false]);
        assert_eq!(unchecked(&format!("(loop {IF} (return)) (else (call $polls))) (br 0))")), [false]);
        assert_eq!(unchecked(&format!("(loop {IF} (call $polls)) (else (return))) (br 0))")), [false]);
        let jump = "(loop (block (br_if 0 (local.get 0)) (call $polls)) (br 0))";
        assert_eq!(unchecked(jump), [true], "a jump leads past it");
        let table = "(loop (block (block (br_table 0 1 2 (local.get 0))) (call $polls)) (br 0))";
        assert_eq!(unchecked(table), [true]);
        let both =
            "(loop (block (block (br_table 0 1 (local.get 0))) (call $polls) (br 1)) (call $polls) (br 0))";
        assert_eq!(unchecked(both), [false]);
    }

    #[test]
    fn a_poll_counts_for_all_loops_around_it() {
        assert_eq!(unchecked("(loop (loop (call $polls) (br_if 0 (local.get 0))) (br 0))"), [false, false]);
        assert_eq!(unchecked("(loop (call $polls) (loop (br_if 0 (local.get 0))) (br 0))"), [false, true]);
        assert_eq!(unchecked("(loop (call $polls) (loop (br 1)))"), [false, false]);
        assert_eq!(unchecked("(loop (loop (br_if 1 (local.get 0)) (call $polls) (br 0)))"), [true, false]);
        // Behind the first inner loop, of which one way out does not poll.
        let ways =
            "(loop (block (loop (br_if 1 (local.get 0)) (call $polls) (br_if 0 (local.get 0)))) (br 0))";
        assert_eq!(unchecked(ways), [true, false]);
        // A poll before a loop is none of its turns.
        assert_eq!(unchecked("(call $polls) (loop (br 0))"), [true]);
        assert_eq!(unchecked("(loop (call $polls) (br_if 0 (local.get 0))) (loop (br 0))"), [false, true]);
    }
}
