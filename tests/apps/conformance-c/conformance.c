/* The guarantees of sateen.h, each an entry point that returns `ok` or an error. */

#include "sateen.h"

SATEEN_STRUCT(range, uint64_t from; uint64_t to;)
SATEEN_JOB(sum, range, uint64_t)
SATEEN_JOB(square, uint32_t, uint64_t)
SATEEN_JOB(sulk, uint32_t, uint32_t)

/* Some work, so that other workers have jobs to steal. */
static void work(void) {
    for (volatile uint32_t turn = 0; turn < 20000; turn++) {}
}

uint64_t sum(range of) {
    if (of.to - of.from <= 1) {
        work();
        return of.to == of.from ? 0 : of.from;
    }
    uint64_t middle = of.from + (of.to - of.from) / 2;
    sum_job left;
    sum_spawn(&left, (range){of.from, middle});
    uint64_t right = sum((range){middle, of.to});
    return sum_sync(&left) + right;
}

uint64_t square(uint32_t n) {
    work();
    return (uint64_t)n * n;
}

uint32_t sulk(uint32_t n) {
    if (n == 7) sateen_fail("seven will not do");
    return n;
}

SATEEN_MAIN(halves) {
    uint64_t n;
    if (!sateen_number(words, 0, &n)) return sateen_bad_input("a number is expected");
    return sateen_text_of(sum((range){0, n}));
}

/* Synced in the order of their spawns, which is not the stack's order. */
SATEEN_MAIN(orders) {
    enum { JOBS = 200 };
    square_job jobs[JOBS];
    (void)words;
    for (uint32_t n = 0; n < JOBS; n++) square_spawn(&jobs[n], n);
    for (uint32_t n = 0; n < JOBS; n += 2)
        if (square_sync(&jobs[n]) != (uint64_t)n * n) return sateen_failed("an even one is wrong");
    for (uint32_t n = 1; n < JOBS; n += 2)
        if (square_sync(&jobs[n]) != (uint64_t)n * n) return sateen_failed("an odd one is wrong");
    return sateen_text("ok");
}

/* More jobs than the stack holds. */
SATEEN_MAIN(many) {
    enum { JOBS = 50000 };
    sulk_job *jobs = sateen_allocate(JOBS * sizeof *jobs);
    (void)words;
    for (uint32_t turn = 0; turn < 3; turn++) {
        for (uint32_t n = 0; n < JOBS; n++) sulk_spawn(&jobs[n], n + 8);
        for (uint32_t n = 0; n < JOBS; n++) {
            uint32_t at = turn == 1 ? JOBS - 1 - n : n;
            if (sulk_sync(&jobs[at]) != at + 8) return sateen_failed("one is wrong");
        }
    }
    return sateen_text("ok");
}

/* Dropped jobs are aborted: the failure of one of them is not reported. */
SATEEN_MAIN(drops) {
    enum { JOBS = 100 };
    sulk_job jobs[JOBS];
    (void)words;
    for (uint32_t n = 0; n < JOBS; n++) sulk_spawn(&jobs[n], n);
    for (uint32_t n = 0; n < JOBS; n++) {
        if (n % 10 == 7 || n % 3) sulk_drop(&jobs[n]);
        else if (sulk_sync(&jobs[n]) != n) return sateen_failed("one is wrong");
    }
    return sateen_text("ok");
}

SATEEN_MAIN(fails) {
    sulk_job job;
    (void)words;
    sulk_spawn(&job, 7);
    sum((range){0, 400});
    return sateen_text_of(sulk_sync(&job));
}

SATEEN_MAIN(echo) {
    uint32_t length = 0;
    const unsigned char *bytes = sateen_input("some", &length);
    (void)words;
    sateen_log("a line from C");
    return bytes ? sateen_bytes(bytes, length) : sateen_failed("there is no input `some`");
}

/* A pointer outside of memory. */
SATEEN_MAIN(strays) {
    (void)words;
    sateen_abi_log((const char *)0xfffffff0, 64);
    return sateen_text("ok");
}
