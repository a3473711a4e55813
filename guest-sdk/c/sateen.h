/* Sateen for C: jobs that may run elsewhere. One header, no library; for clang with --target=wasm32.
 *
 *     #include "sateen.h"
 *
 *     SATEEN_STRUCT(fib_of, uint64_t n;)           // parameters: a struct without padding or pointers
 *     SATEEN_JOB(fib, fib_of, uint64_t)            // declares fib, fib_spawn, fib_sync and fib_drop
 *
 *     uint64_t fib(fib_of of) {
 *         if (of.n < 2) return of.n;
 *         fib_job left;
 *         fib_spawn(&left, (fib_of){of.n - 1});    // may be stolen from here on
 *         uint64_t right = fib((fib_of){of.n - 2});
 *         return fib_sync(&left) + right;
 *     }
 *
 *     SATEEN_MAIN(main) {                          // called by `sateen run`; words from the command line
 *         uint64_t n;
 *         if (!sateen_number(words, 0, &n)) return sateen_bad_word(words, 0, "one number is expected");
 *         if (words->count > 1) return sateen_bad_word(words, 1, "one number is expected");
 *         return sateen_text_of(fib((fib_of){n}));
 *     }
 *
 *     clang --target=wasm32 -O3 -mbulk-memory -nostdlib -Wl,--no-entry -Wl,--export=__stack_pointer -I… app.c -o app.wasm
 *
 * A job is a function of its parameters and the run's inputs, and of nothing else: statics hold only what can
 * be computed again. Spawned jobs are latent records on a stack in this module's memory (see docs/abi.md);
 * a spawn and its sync cost nanoseconds when no other worker wants the job. If a job fails (sateen_fail, a trap), so
 * does the job that syncs it. A spawner must sync or drop every spawned job before it returns.
 */
#ifndef SATEEN_H
#define SATEEN_H

#include <stddef.h>
#include <stdint.h>

#ifndef __wasm32__
#error "sateen.h is for wasm32: compile with clang --target=wasm32"
#endif

/* ---- the ABI, version 1 ---- */

#define SATEEN_IMPORT(name) __attribute__((import_module("sateen"), import_name(#name))) extern
SATEEN_IMPORT(attach) void sateen_abi_attach(volatile uint32_t *control);
SATEEN_IMPORT(latent) void sateen_abi_latent(const uint32_t *words, uint32_t length_at);
SATEEN_IMPORT(register) uint32_t sateen_abi_register(const char *name, uint32_t length, void *kind);
SATEEN_IMPORT(expose) uint32_t sateen_abi_expose(uint32_t kind, const void *parameters, uint32_t length, uint32_t depth);
SATEEN_IMPORT(sync) uint64_t sateen_abi_sync(uint32_t job);
SATEEN_IMPORT(record) void sateen_abi_record(uint32_t job, const void *result, uint32_t length);
SATEEN_IMPORT(take) void sateen_abi_take(void *destination);
SATEEN_IMPORT(abandon) void sateen_abi_abandon(uint32_t job);
SATEEN_IMPORT(fail) _Noreturn void sateen_abi_fail(uint32_t fault, const char *text, uint32_t length);
SATEEN_IMPORT(log) void sateen_abi_log(const char *text, uint32_t length);
SATEEN_IMPORT(progress) void sateen_abi_progress(uint64_t done, uint64_t total);
SATEEN_IMPORT(input) uint64_t sateen_abi_input(const char *name, uint32_t length);

#define SATEEN_EXPORT(name) __attribute__((export_name(name), used))
#define SATEEN_INLINE static inline __attribute__((always_inline, unused))
#define SATEEN_COLD static __attribute__((noinline, cold, unused))

/* [constants: `cargo xtask abi` writes what follows] */
/* Faults, for `fail`. */
#define SATEEN_FAULT_CHILD 1u
#define SATEEN_FAULT_ENCODING 2u
/* The upper half of an answer of `sync`. */
#define SATEEN_SYNC_DONE 0u
#define SATEEN_SYNC_RECLAIMED 1u
#define SATEEN_SYNC_FAILED 2u
#define SATEEN_SYNC_RECLAIMED_RECORD 3u
/* Places of the control words, and the length of those that every guest has. */
#define SATEEN_WORD_LIMIT 0u
#define SATEEN_WORD_FLOOR 4u
#define SATEEN_WORD_DEPTH 8u
#define SATEEN_WORD_LOOKUP_BELOW 12u
#define SATEEN_WORD_BYTES_MIN 16u
/* Special values of `limit` and `floor`. */
#define SATEEN_LIMIT_ALARM 0u
#define SATEEN_LIMIT_CLOSED 1u
#define SATEEN_FLOOR_OLDEST 4294967295u
#define SATEEN_FLOOR_ALL 4294967294u
/* Places of a job kind's words, and the length of the part that the host knows. */
#define SATEEN_KIND_COARSE 0u
#define SATEEN_KIND_NUMBER 4u
#define SATEEN_KIND_SPAWNED 8u
#define SATEEN_KIND_DROPPED 16u
#define SATEEN_KIND_BYTES 24u
/* Places of the words that show the stack of latent jobs. */
#define SATEEN_STACK_TOP 4u
#define SATEEN_STACK_KEPT 8u
/* Marks in the first word of a latent job's record, all of them, and the length of its header. */
#define SATEEN_HOLE 1u
#define SATEEN_EXPOSED 2u
#define SATEEN_MARKS 3u
#define SATEEN_HEADER 8u
/* An entry point's outcome. */
#define SATEEN_OUTCOME_TEXT 0u
#define SATEEN_OUTCOME_BYTES 1u
#define SATEEN_OUTCOME_FAILED 2u
#define SATEEN_OUTCOME_BAD_INPUT 3u
/* [end of constants] */

SATEEN_EXPORT("sateen_abi_1") void sateen_abi_1(void) {}

/* ---- memory ---- */

extern unsigned char __heap_base;

static inline size_t sateen_length(const char *text) {
    size_t length = 0;
    while (text[length]) length++;
    return length;
}

/* Fresh memory, aligned to 16 and zeroed, until the instance ends: each job has an instance of its own. */
static __attribute__((unused)) void *sateen_allocate(size_t bytes) {
    static uintptr_t next;
    if (!next) next = ((uintptr_t)&__heap_base + 15) & ~(uintptr_t)15;
    uintptr_t place = next;
    uint64_t end = (uint64_t)place + ((bytes + 15) & ~(size_t)15);
    uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) << 16;
    if (end > have) {
        uint64_t pages = (end - have + 65535) >> 16;
        if (pages > 65536 || __builtin_wasm_memory_grow(0, (size_t)pages) == (size_t)-1) __builtin_trap();
    }
    next = (uintptr_t)end;
    return (void *)place;
}

/* ---- the stack of latent jobs ---- */

/* The scheduler's record of a job kind; the host knows the first SATEEN_KIND_BYTES bytes. */
typedef struct {
    _Alignas(8) volatile uint32_t coarse; /* while not zero, every spawn is exposed */
    uint32_t number;
    volatile uint64_t spawned;
    uint64_t dropped;
    const char *name;
    uint32_t parameter_bytes;
    uint32_t record_bytes;
    uint32_t registered;
} sateen_kind;

_Static_assert(offsetof(sateen_kind, coarse) == SATEEN_KIND_COARSE && offsetof(sateen_kind, number) == SATEEN_KIND_NUMBER &&
                   offsetof(sateen_kind, spawned) == SATEEN_KIND_SPAWNED && offsetof(sateen_kind, dropped) == SATEEN_KIND_DROPPED,
               "the host knows these places");

typedef struct {
    uint32_t kind; /* its address, and marks in the low bits */
    uint32_t job;  /* the depth of a latent job's spawn; an exposed job's number */
} sateen_record;

_Static_assert(sizeof(sateen_record) == SATEEN_HEADER, "the host knows its length");

enum { SATEEN_STACK_BYTES = 512 * 1024 };

/* The host knows all words, and writes the first four at heartbeats and within calls. */
static struct sateen_words {
    volatile uint32_t limit, floor;
    uint32_t depth;
    volatile uint32_t lookup_below;
    uint32_t real_floor, top;
    uint32_t kept; /* jobs that found the stack full */
} sateen_control;
_Static_assert(offsetof(struct sateen_words, floor) == SATEEN_WORD_FLOOR && offsetof(struct sateen_words, depth) == SATEEN_WORD_DEPTH &&
                   offsetof(struct sateen_words, lookup_below) == SATEEN_WORD_LOOKUP_BELOW &&
                   offsetof(struct sateen_words, real_floor) == SATEEN_WORD_BYTES_MIN &&
                   offsetof(struct sateen_words, top) == SATEEN_WORD_BYTES_MIN + SATEEN_STACK_TOP &&
                   offsetof(struct sateen_words, kept) == SATEEN_WORD_BYTES_MIN + SATEEN_STACK_KEPT,
               "the host knows these places");
static _Alignas(8) unsigned char sateen_stack[SATEEN_STACK_BYTES];

#define SATEEN_END ((uint32_t)(uintptr_t)(sateen_stack + SATEEN_STACK_BYTES))
#define SATEEN_AT(record) ((sateen_record *)(uintptr_t)(record))
#define SATEEN_KIND(record) ((sateen_kind *)(uintptr_t)(SATEEN_AT(record)->kind & ~(uint32_t)SATEEN_MARKS))

enum { SATEEN_SILENT, SATEEN_HUNGRY, SATEEN_DRAIN };

SATEEN_INLINE int sateen_looks_up(void) { return sateen_control.depth < sateen_control.lookup_below; }

SATEEN_INLINE void sateen_move_floor(uint32_t to) {
    sateen_control.real_floor = to;
    sateen_control.floor = sateen_looks_up() ? SATEEN_FLOOR_OLDEST : to;
}

SATEEN_INLINE void sateen_set_paths(void) {
    sateen_control.limit = sateen_looks_up() ? SATEEN_LIMIT_CLOSED : SATEEN_END;
    sateen_move_floor(sateen_control.real_floor);
}

/* Continues at another depth; a pending alarm stays pending. */
SATEEN_INLINE void sateen_enter(uint32_t depth) {
    sateen_control.depth = depth;
    if (sateen_control.limit != SATEEN_LIMIT_ALARM) sateen_set_paths();
}

SATEEN_INLINE int sateen_answer_alarm(void) {
    if (sateen_control.limit != SATEEN_LIMIT_ALARM) return SATEEN_SILENT;
    int alarm = sateen_control.floor == SATEEN_FLOOR_ALL ? SATEEN_DRAIN : SATEEN_HUNGRY;
    sateen_set_paths();
    return alarm;
}

SATEEN_INLINE void sateen_attach(void) {
    sateen_control.top = (uint32_t)(uintptr_t)sateen_stack;
    sateen_control.limit = SATEEN_END;
    sateen_move_floor(sateen_control.top);
    sateen_abi_attach(&sateen_control.limit);
    sateen_abi_latent(&sateen_control.real_floor, offsetof(sateen_kind, record_bytes));
    sateen_enter(0);
}

SATEEN_INLINE uint32_t sateen_number_of(sateen_kind *kind) {
    if (!kind->registered) {
        kind->number = sateen_abi_register(kind->name, (uint32_t)sateen_length(kind->name), kind);
        kind->registered = 1;
    }
    return kind->number;
}

/* Offers the oldest latent job to the host, which may raise the alarm again within the call. */
SATEEN_COLD int sateen_expose_oldest(void) {
    uint32_t record = sateen_control.real_floor;
    while (record < sateen_control.top && (SATEEN_AT(record)->kind & SATEEN_HOLE))
        record += SATEEN_KIND(record)->record_bytes;
    sateen_move_floor(record);
    if (record >= sateen_control.top) return 0;
    sateen_kind *kind = SATEEN_KIND(record);
    uint32_t next = record + kind->record_bytes, number = sateen_number_of(kind);
    /* The floor moves first: an alarm that is raised within the call must not be overwritten. */
    sateen_move_floor(next);
    uint32_t job = sateen_abi_expose(number, SATEEN_AT(record) + 1, kind->parameter_bytes, SATEEN_AT(record)->job);
    if (!job) {
        if (sateen_control.real_floor == next) {
            sateen_control.real_floor = record;
            if (sateen_control.floor < SATEEN_FLOOR_ALL) sateen_control.floor = record;
        }
        return 0;
    }
    SATEEN_AT(record)->job = job;
    SATEEN_AT(record)->kind |= SATEEN_EXPOSED;
    return 1;
}

SATEEN_COLD void sateen_expose(int alarm) {
    if (alarm == SATEEN_HUNGRY) sateen_expose_oldest();
    if (alarm == SATEEN_DRAIN)
        while (sateen_expose_oldest()) {}
}

/* Frees the holes at the stack's end. */
SATEEN_COLD void sateen_sweep(void) {
    uint32_t record = (uint32_t)(uintptr_t)sateen_stack, live_end = record;
    while (record < sateen_control.top) {
        uint32_t next = record + SATEEN_KIND(record)->record_bytes;
        if (!(SATEEN_AT(record)->kind & SATEEN_HOLE)) live_end = next;
        record = next;
    }
    sateen_control.top = live_end;
    if (sateen_control.real_floor > live_end) sateen_move_floor(live_end);
}

SATEEN_INLINE void sateen_remove(uint32_t record, uint32_t bytes) {
    if (record + bytes != sateen_control.top) {
        SATEEN_AT(record)->kind |= SATEEN_HOLE;
        return;
    }
    sateen_control.top = record;
    if (sateen_control.real_floor > record) sateen_move_floor(record);
}

/* Room for a record in the slow path, or 0 when the stack is full. Some alarms are answered by `sateen_pushed`. */
SATEEN_COLD uint32_t sateen_room(sateen_kind *kind, int *alarm) {
    static uint32_t sweep_after;
    *alarm = sateen_answer_alarm();
    sateen_number_of(kind);
    if (sateen_control.top + kind->record_bytes > SATEEN_END && !sweep_after--) {
        sweep_after = 4096;
        sateen_sweep();
    }
    return sateen_control.top + kind->record_bytes <= SATEEN_END ? sateen_control.top : 0;
}

SATEEN_COLD void sateen_pushed(sateen_kind *kind, int alarm) {
    if (alarm == SATEEN_SILENT && (kind->coarse || sateen_looks_up())) sateen_expose_oldest();
    else sateen_expose(alarm);
}

/* The outcome of a sync's slow path: either the depth of a call in place, or the length of a result. */
typedef struct {
    int is_done;
    uint32_t depth, length, record_as;
} sateen_claimed;

/* The record stays until the caller has copied its parameters and calls sateen_remove. */
SATEEN_COLD sateen_claimed sateen_claim(uint32_t record) {
    int alarm = sateen_answer_alarm();
    if (alarm == SATEEN_DRAIN) sateen_expose(alarm); /* this job as well: another host continues it */
    if (!(SATEEN_AT(record)->kind & SATEEN_EXPOSED))
        return (sateen_claimed){0, SATEEN_AT(record)->job, 0, 0};
    if (alarm == SATEEN_HUNGRY) sateen_expose(alarm);
    uint32_t job = SATEEN_AT(record)->job;
    uint64_t answer = sateen_abi_sync(job);
    uint32_t low = (uint32_t)answer;
    switch ((uint32_t)(answer >> 32)) {
    case SATEEN_SYNC_DONE: return (sateen_claimed){1, 0, low, 0};
    case SATEEN_SYNC_RECLAIMED: return (sateen_claimed){0, low, 0, 0};
    case SATEEN_SYNC_RECLAIMED_RECORD: return (sateen_claimed){0, low, 0, job};
    default: sateen_abi_fail(SATEEN_FAULT_CHILD, "", 0);
    }
}

SATEEN_COLD _Noreturn void sateen_fail(const char *why) {
    sateen_abi_fail(SATEEN_FAULT_ENCODING, why, (uint32_t)sateen_length(why));
}

/* ---- jobs ---- */

/* A parameter struct: its bytes are its encoding, so it may have no padding, and no pointers. */
#define SATEEN_STRUCT(name, ...)                                                                             \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic error \"-Wpadded\"")                          \
    typedef struct { __VA_ARGS__ } name;                                                                     \
    _Pragma("clang diagnostic pop")

#define SATEEN_RECORD_BYTES(type) ((sizeof(sateen_record) + sizeof(type) + 7) & ~(size_t)7)

/* A line of the module's manifest, which `sateen check` shows. */
#define SATEEN_MANIFEST(line)                                                                                \
    __asm__(".section .custom_section.sateen.manifest,\"\",@\n.ascii \"" line "\\n\"\n.text\n");

/* Declares the job NAME, a function from one struct (or number) to another; its definition follows. */
#define SATEEN_JOB(NAME, PARAMETERS, RESULT)                                                                 \
    __attribute__((noinline)) RESULT NAME(PARAMETERS); \
    SATEEN_MANIFEST("job " #NAME "(parameters: " #PARAMETERS ") -> " #RESULT)                                \
    static sateen_kind NAME##_kind = {1, 0, 0, 0, #NAME, sizeof(PARAMETERS),                                 \
                                      SATEEN_RECORD_BYTES(PARAMETERS), 0};                                   \
    /* A spawned job: where its record is or, when the stack was full, its parameters. */                    \
    typedef struct { uint32_t record, depth; PARAMETERS kept; } NAME##_job;                                  \
    SATEEN_INLINE void NAME##_put(uint32_t record, PARAMETERS parameters) {                                  \
        SATEEN_AT(record)->kind = (uint32_t)(uintptr_t)&NAME##_kind;                                         \
        SATEEN_AT(record)->job = sateen_control.depth;                                                       \
        __builtin_memcpy(SATEEN_AT(record) + 1, &parameters, sizeof parameters);                             \
        sateen_control.top = record + NAME##_kind.record_bytes;                                              \
    }                                                                                                        \
    SATEEN_COLD void NAME##_spawn_slowly(NAME##_job *job, PARAMETERS parameters) {                           \
        int alarm;                                                                                           \
        job->record = sateen_room(&NAME##_kind, &alarm);                                                     \
        if (!job->record) {                                                                                  \
            job->depth = sateen_control.depth;                                                               \
            job->kept = parameters;                                                                          \
            sateen_control.kept++;                                                                           \
            sateen_expose(alarm);                                                                            \
            return;                                                                                          \
        }                                                                                                    \
        NAME##_put(job->record, parameters);                                                                 \
        sateen_pushed(&NAME##_kind, alarm);                                                                  \
    }                                                                                                        \
    SATEEN_INLINE void NAME##_spawn(NAME##_job *job, PARAMETERS parameters) {                                \
        NAME##_kind.spawned++;                                                                               \
        uint32_t record = sateen_control.top;                                                                \
        if (record + SATEEN_RECORD_BYTES(PARAMETERS) <= sateen_control.limit && !NAME##_kind.coarse) {       \
            job->record = record;                                                                            \
            NAME##_put(record, parameters);                                                                  \
        } else {                                                                                             \
            NAME##_spawn_slowly(job, parameters);                                                            \
        }                                                                                                    \
    }                                                                                                        \
    SATEEN_COLD RESULT NAME##_sync_slowly(NAME##_job *job) {                                                 \
        PARAMETERS parameters;                                                                               \
        uint32_t outside = sateen_control.depth;                                                             \
        sateen_claimed claimed = {0, job->depth, 0, 0};                                                      \
        if (job->record) {                                                                                   \
            claimed = sateen_claim(job->record);                                                             \
            __builtin_memcpy(&parameters, SATEEN_AT(job->record) + 1, sizeof parameters);                    \
            sateen_remove(job->record, SATEEN_RECORD_BYTES(PARAMETERS));                                     \
        } else {                                                                                             \
            parameters = job->kept;                                                                          \
            sateen_control.kept--;                                                                           \
        }                                                                                                    \
        RESULT result;                                                                                       \
        if (claimed.is_done) {                                                                               \
            if (claimed.length != sizeof result)                                                             \
                sateen_fail("the result of `" #NAME "` breaks the ABI: it has the wrong size");              \
            sateen_abi_take(&result);                                                                        \
            return result;                                                                                   \
        }                                                                                                    \
        sateen_expose(sateen_answer_alarm());                                                                \
        sateen_enter(claimed.depth + 1);                                                                     \
        result = NAME(parameters);                                                                           \
        sateen_enter(outside);                                                                               \
        if (claimed.record_as) sateen_abi_record(claimed.record_as, &result, sizeof result);                 \
        return result;                                                                                       \
    }                                                                                                        \
    SATEEN_INLINE RESULT NAME##_sync(NAME##_job *job) {                                                      \
        uint32_t record = job->record;                                                                       \
        if (record < sateen_control.floor || record + SATEEN_RECORD_BYTES(PARAMETERS) != sateen_control.top) \
            return NAME##_sync_slowly(job);                                                                  \
        PARAMETERS parameters;                                                                               \
        __builtin_memcpy(&parameters, SATEEN_AT(record) + 1, sizeof parameters);                             \
        sateen_control.top = record;                                                                         \
        sateen_control.depth++;                                                                              \
        RESULT result = NAME(parameters);                                                                    \
        sateen_control.depth--;                                                                              \
        return result;                                                                                       \
    }                                                                                                        \
    SATEEN_INLINE void NAME##_drop(NAME##_job *job) {                                                        \
        if (job->record && (SATEEN_AT(job->record)->kind & SATEEN_EXPOSED))                                  \
            sateen_abi_abandon(SATEEN_AT(job->record)->job);                                                 \
        else                                                                                                 \
            NAME##_kind.dropped++;                                                                           \
        if (job->record) sateen_remove(job->record, SATEEN_RECORD_BYTES(PARAMETERS));                        \
        else sateen_control.kept--;                                                                          \
    }                                                                                                        \
    SATEEN_EXPORT("sateen_job_" #NAME) uint64_t NAME##_entry(uint32_t length) {                              \
        PARAMETERS parameters;                                                                               \
        static RESULT result;                                                                                \
        sateen_attach();                                                                                     \
        if (length != sizeof parameters)                                                                     \
            sateen_fail("its parameters break the ABI: they have the wrong size");                           \
        sateen_abi_take(&parameters);                                                                        \
        result = NAME(parameters);                                                                           \
        return (uint64_t)(uintptr_t)&result << 32 | sizeof result;                                           \
    }

/* ---- entry points ---- */

/* The words of the command line. */
typedef struct { const char *text; uint32_t length; } sateen_word;
typedef struct { uint32_t count; sateen_word *word; } sateen_words;
/* The run's output: encoded, with its length. */
typedef struct { unsigned char *bytes; uint32_t length; } sateen_output;

/* An entry point: `SATEEN_MAIN(main) { … }` sees `const sateen_words *words` and returns a sateen_output. */
#define SATEEN_MAIN(NAME)                                                                                    \
    static sateen_output NAME##_entry(const sateen_words *words);                                            \
    SATEEN_MANIFEST("main " #NAME "(words…)")                                                                \
    SATEEN_EXPORT("sateen_main_" #NAME) uint64_t NAME##_called(uint32_t length) {                            \
        sateen_words words = sateen_read_words(length);                                                      \
        sateen_output output = NAME##_entry(&words);                                                         \
        return (uint64_t)(uintptr_t)output.bytes << 32 | output.length;                                      \
    }                                                                                                        \
    static sateen_output NAME##_entry(const sateen_words *words)

/* A length of at most five bytes, seven bits each, the lowest first. */
SATEEN_INLINE uint32_t sateen_read_varint(const unsigned char **at, const unsigned char *end) {
    uint32_t value = 0;
    for (uint32_t shift = 0; shift < 35 && *at < end; shift += 7) {
        unsigned char byte = *(*at)++;
        value |= (uint32_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    sateen_fail("the words of the command line do not decode");
}

static __attribute__((unused)) sateen_words sateen_read_words(uint32_t length) {
    sateen_attach();
    unsigned char *bytes = sateen_allocate(length);
    sateen_abi_take(bytes);
    const unsigned char *at = bytes, *end = bytes + length;
    sateen_words words = {sateen_read_varint(&at, end), 0};
    if (words.count > length) sateen_fail("the words of the command line do not decode");
    words.word = sateen_allocate(words.count * sizeof *words.word);
    for (uint32_t index = 0; index < words.count; index++) {
        uint32_t size = sateen_read_varint(&at, end);
        if (size > (uint32_t)(end - at)) sateen_fail("the words of the command line do not decode");
        words.word[index] = (sateen_word){(const char *)at, size};
        at += size;
    }
    return words;
}

/* Reads a word as a whole number; returns 0 if it is missing or not a number. */
SATEEN_INLINE int sateen_number(const sateen_words *words, uint32_t index, uint64_t *number) {
    if (index >= words->count || !words->word[index].length) return 0;
    uint64_t value = 0;
    for (uint32_t at = 0; at < words->word[index].length; at++) {
        unsigned digit = (unsigned char)words->word[index].text[at] - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10) return 0;
        value = value * 10 + digit;
    }
    *number = value;
    return 1;
}


static __attribute__((unused)) sateen_output sateen_output_of(unsigned kind, const void *bytes, uint32_t length) {
    sateen_output output = {sateen_allocate(length + 6), 0};
    output.bytes[output.length++] = (unsigned char)kind;
    uint32_t rest = length;
    for (; rest >= 128; rest >>= 7) output.bytes[output.length++] = (unsigned char)(rest | 128);
    output.bytes[output.length++] = (unsigned char)rest;
    for (uint32_t at = 0; at < length; at++) output.bytes[output.length++] = ((const unsigned char *)bytes)[at];
    return output;
}

/* A run's output: text, a number as text, bytes; or the reason why there is none. */
SATEEN_INLINE sateen_output sateen_text(const char *text) {
    return sateen_output_of(SATEEN_OUTCOME_TEXT, text, (uint32_t)sateen_length(text));
}
SATEEN_INLINE sateen_output sateen_bytes(const void *bytes, uint32_t length) {
    return sateen_output_of(SATEEN_OUTCOME_BYTES, bytes, length);
}
SATEEN_INLINE sateen_output sateen_bad_input(const char *why) {
    return sateen_output_of(SATEEN_OUTCOME_BAD_INPUT, why, (uint32_t)sateen_length(why));
}
/* Reports a word as bad input to the user, for example an unknown flag. */
static __attribute__((unused)) sateen_output sateen_bad_word(const sateen_words *words, uint32_t index, const char *why) {
    if (index >= words->count) return sateen_bad_input(why);
    const char *parts[] = {"`", words->word[index].text, "` is not understood: ", why};
    uint32_t lengths[] = {1, words->word[index].length, (uint32_t)sateen_length(parts[2]), (uint32_t)sateen_length(why)};
    uint32_t length = 0;
    char *text = sateen_allocate((size_t)lengths[0] + lengths[1] + lengths[2] + lengths[3]);
    for (int part = 0; part < 4; part++)
        for (uint32_t at = 0; at < lengths[part]; at++) text[length++] = parts[part][at];
    return sateen_output_of(SATEEN_OUTCOME_BAD_INPUT, text, length);
}
SATEEN_INLINE sateen_output sateen_failed(const char *why) {
    return sateen_output_of(SATEEN_OUTCOME_FAILED, why, (uint32_t)sateen_length(why));
}
static __attribute__((unused)) sateen_output sateen_text_of(uint64_t number) {
    char digits[20];
    uint32_t first = sizeof digits;
    do digits[--first] = (char)('0' + number % 10);
    while (number /= 10);
    return sateen_output_of(SATEEN_OUTCOME_TEXT, digits + first, (uint32_t)sizeof digits - first);
}

/* ---- inputs, log, progress ---- */

/* A named input of the run; 0 when there is none. */
static __attribute__((unused)) const unsigned char *sateen_input(const char *name, uint32_t *length) {
    uint64_t bytes = sateen_abi_input(name, (uint32_t)sateen_length(name));
    if (bytes == UINT64_MAX) return 0;
    unsigned char *place = sateen_allocate((size_t)bytes);
    sateen_abi_take(place);
    *length = (uint32_t)bytes;
    return place;
}

/* A line of the run's log. */
SATEEN_INLINE void sateen_log(const char *line) { sateen_abi_log(line, (uint32_t)sateen_length(line)); }
/* Reports the root job's progress. */
SATEEN_INLINE void sateen_progress(uint64_t done, uint64_t total) { sateen_abi_progress(done, total); }

#endif
