/* N-queens in C: the same search as the Rust sample, and the same answers. */

#include "sateen.h"

/* Rows at the bottom that are searched without a spawn: some microseconds of work. */
enum { PLAIN_ROWS = 9, QUEENS_MAX = 27 };

/* Columns and diagonals that are attacked in the next row, one bit a column. */
SATEEN_STRUCT(board, uint32_t all; uint32_t columns; uint32_t left; uint32_t right;)
SATEEN_JOB(solutions, board, uint64_t)

static uint64_t plain(uint32_t all, uint32_t columns, uint32_t left, uint32_t right) {
    uint32_t free = all & ~(columns | left | right);
    uint64_t found = columns == all;
    for (; free; free &= free - 1) {
        uint32_t queen = free & -free;
        found += plain(all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    return found;
}

uint64_t solutions(board at) {
    if (__builtin_popcount(at.all & ~at.columns) <= PLAIN_ROWS) return plain(at.all, at.columns, at.left, at.right);
    solutions_job jobs[QUEENS_MAX];
    int spawned = 0;
    for (uint32_t free = at.all & ~(at.columns | at.left | at.right); free; free &= free - 1) {
        uint32_t queen = free & -free;
        solutions_spawn(&jobs[spawned++],
                        (board){at.all, at.columns | queen, (at.left | queen) << 1, (at.right | queen) >> 1});
    }
    uint64_t found = 0;
    while (spawned--) found += solutions_sync(&jobs[spawned]);
    return found;
}

SATEEN_MAIN(main) {
    uint64_t queens;
    const char *expected = "one argument is expected: the number of queens, from 1 to 27";
    if (!sateen_number(words, 0, &queens) || queens < 1 || queens > QUEENS_MAX) return sateen_bad_word(words, 0, expected);
    if (words->count > 1) return sateen_bad_word(words, 1, expected);
    return sateen_text_of(solutions((board){(1u << queens) - 1, 0, 0, 0}));
}
