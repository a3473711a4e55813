//! Small loops whose bodies are written several times, so that several turns have one check.
//!
//! ```text
//! loop $l (body) end     becomes     block $exit loop $l (check)
//!                                      block $2 block $1 (body: $1 for $l) br $exit end (body: $2 for $l) br $exit end
//!                                      (body) end end
//! ```

use wasm_encoder::Instruction;
use wasmparser::{BlockType, Operator};

/// A loop with at most this many instructions, in all copies together, is small.
const INSTRUCTIONS_MAX: usize = 128;
/// The most copies of a loop: further ones would save little.
const COPIES_MAX: usize = 4;

/// How often to write the body of the loop that begins with the first of these instructions, and the number of its
/// instructions. `None` if it is not small, or has loops in it or parameters.
pub fn copies(operators: &[Operator<'_>]) -> Option<(usize, usize)> {
    let (first, body) = operators.split_first()?;
    if !matches!(first, Operator::Loop { blockty: BlockType::Empty | BlockType::Type(_) }) {
        return None;
    }
    let mut blocks = 0_usize;
    for (length, operator) in body.iter().take(INSTRUCTIONS_MAX / 2 + 1).enumerate() {
        match operator {
            Operator::Loop { .. } => return None,
            Operator::Block { .. } | Operator::If { .. } => blocks += 1,
            Operator::End if blocks == 0 => {
                let copies = COPIES_MAX.min(INSTRUCTIONS_MAX / length.max(1));
                return Some((copies, length)).filter(|(copies, _)| *copies > 1);
            }
            Operator::End => blocks -= 1,
            _ => {}
        }
    }
    None
}

/// Counts the blocks around the next instruction of a body.
#[derive(Default)]
pub struct Depth(u32);

impl Depth {
    /// The `instruction` that an instruction of the body has become, with its jumps to labels outside the loop
    /// leading to those around `by` further blocks.
    pub fn shifted<'a>(
        &mut self,
        operator: &Operator<'_>,
        instruction: Instruction<'a>,
        by: u32,
    ) -> Instruction<'a> {
        match operator {
            Operator::Block { .. } | Operator::If { .. } => self.0 += 1,
            Operator::End => self.0 = self.0.saturating_sub(1),
            _ => {}
        }
        let shifted = |label: u32| if label > self.0 { label + by } else { label };
        match instruction {
            Instruction::Br(label) => Instruction::Br(shifted(label)),
            Instruction::BrIf(label) => Instruction::BrIf(shifted(label)),
            Instruction::BrTable(labels, default) => Instruction::BrTable(
                labels.iter().map(|label| shifted(*label)).collect::<Vec<_>>().into(),
                shifted(default),
            ),
            instruction => instruction,
        }
    }
}
