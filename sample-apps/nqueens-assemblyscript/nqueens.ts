// N-queens in AssemblyScript: the same search as the Rust sample, and the same answers.

import { Kind, Words, badWord, text } from "../../guest-sdk/assemblyscript/sateen";
export { sateen_abi_1 } from "../../guest-sdk/assemblyscript/sateen";

// Rows at the bottom that are searched without a spawn: some microseconds of work.
const PLAIN_ROWS = 9;
const QUEENS_MAX = 27;

// Columns and diagonals that are attacked in the next row, one bit a column.
@unmanaged class Board {
  all: u32 = 0;
  columns: u32 = 0;
  left: u32 = 0;
  right: u32 = 0;
}

const solutions = new Kind<Board, u64>("solutions");
solutions.define(count);

function count(at: Board): u64 {
  const all = at.all, columns = at.columns, left = at.left, right = at.right;
  let free = all & ~(columns | left | right);
  if (<i32>popcnt(all & ~columns) <= PLAIN_ROWS) return plain(all, columns, left, right);
  const handles = new StaticArray<u32>(QUEENS_MAX);
  const next = new Board();
  next.all = all;
  let spawned = 0;
  for (; free != 0; free &= free - 1) {
    const queen = free & (0 - free);
    next.columns = columns | queen;
    next.left = (left | queen) << 1;
    next.right = (right | queen) >> 1;
    handles[spawned++] = solutions.spawn(next);
  }
  heap.free(changetype<usize>(next));
  let found: u64 = 0;
  while (spawned > 0) found += solutions.sync(handles[--spawned]);
  return found;
}

function plain(all: u32, columns: u32, left: u32, right: u32): u64 {
  let found: u64 = columns == all ? 1 : 0;
  for (let free = all & ~(columns | left | right); free != 0; free &= free - 1) {
    const queen = free & (0 - free);
    found += plain(all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
  }
  return found;
}

export function sateen_job_solutions(length: u32): u64 {
  return solutions.run(length);
}

export function sateen_main_main(length: u32): u64 {
  const words = new Words(length);
  const queens = words.number(0);
  const expected = "one argument is expected: the number of queens, from 1 to 27";
  if (queens < 1 || queens > QUEENS_MAX) return badWord(words, 0, expected);
  if (words.all.length > 1) return badWord(words, 1, expected);
  const board = new Board();
  board.all = (1 << <u32>queens) - 1;
  return text(count(board).toString());
}
