// Sateen for AssemblyScript: jobs that may run elsewhere.
//
//     import { Kind, Words, text, badWord } from "…/guest-sdk/assemblyscript/sateen";
//
//     @unmanaged class Of { n: u64 = 0; }              // parameters: numbers only, without padding between them
//     const fib = new Kind<Of, u64>("fib");
//     fib.define((of: Of): u64 => {
//       if (of.n < 2) return of.n;
//       const left = fib.spawn(of1(of.n - 1));         // may be stolen from here on
//       const right = fib.call(of1(of.n - 2));
//       return fib.sync(left) + right;
//     });
//     export function sateen_job_fib(length: u32): u64 { return fib.run(length); }
//     export function sateen_main_main(length: u32): u64 { const words = new Words(length); … return text(…); }
//
// A job is a function of its parameters and the run's inputs, and of nothing else. Spawned jobs are latent
// records on a stack in this module's memory (see docs/abi.md). Every spawned job must be synced or dropped.

// ---- the ABI, version 1 ----

@external("sateen", "attach") declare function abiAttach(control: usize): void;
@external("sateen", "latent") declare function abiLatent(words: usize, lengthAt: usize): void;
@external("sateen", "register") declare function abiRegister(name: usize, length: u32, kind: usize): u32;
@external("sateen", "expose") declare function abiExpose(kind: u32, parameters: usize, length: u32, depth: u32): u32;
@external("sateen", "sync") declare function abiSync(job: u32): u64;
@external("sateen", "record") declare function abiRecord(job: u32, result: usize, length: u32): void;
@external("sateen", "take") declare function abiTake(destination: usize): void;
@external("sateen", "abandon") declare function abiAbandon(job: u32): void;
@external("sateen", "fail") declare function abiFail(fault: u32, text: usize, length: u32): void;
@external("sateen", "log") declare function abiLog(text: usize, length: u32): void;
@external("sateen", "progress") declare function abiProgress(done: u64, total: u64): void;
@external("sateen", "input") declare function abiInput(name: usize, length: u32): u64;

export function sateen_abi_1(): void {}

// [constants: `cargo xtask abi` writes what follows]
// Faults, for `fail`.
const FAULT_CHILD: u32 = 1;
const FAULT_ENCODING: u32 = 2;
// The upper half of an answer of `sync`.
const SYNC_DONE: u32 = 0;
const SYNC_RECLAIMED: u32 = 1;
const SYNC_FAILED: u32 = 2;
const SYNC_RECLAIMED_RECORD: u32 = 3;
// Places of the control words, and the length of those that every guest has.
const WORD_LIMIT: usize = 0;
const WORD_FLOOR: usize = 4;
const WORD_DEPTH: usize = 8;
const WORD_LOOKUP_BELOW: usize = 12;
const WORD_BYTES_MIN: usize = 16;
// Special values of `limit` and `floor`.
const LIMIT_ALARM: u32 = 0;
const LIMIT_CLOSED: u32 = 1;
const FLOOR_OLDEST: u32 = 4294967295;
const FLOOR_ALL: u32 = 4294967294;
// Places of a job kind's words, and the length of the part that the host knows.
const KIND_COARSE: usize = 0;
const KIND_NUMBER: usize = 4;
const KIND_SPAWNED: usize = 8;
const KIND_DROPPED: usize = 16;
const KIND_BYTES: usize = 24;
// Places of the words that show the stack of latent jobs.
const STACK_TOP: usize = 4;
const STACK_KEPT: usize = 8;
// Marks in the first word of a latent job's record, all of them, and the length of its header.
const HOLE: u32 = 1;
const EXPOSED: u32 = 2;
const MARKS: u32 = 3;
const HEADER: usize = 8;
// An entry point's outcome.
const OUTCOME_TEXT: u32 = 0;
const OUTCOME_BYTES: u32 = 1;
const OUTCOME_FAILED: u32 = 2;
const OUTCOME_BAD_INPUT: u32 = 3;
// [end of constants]

// ---- the stack of latent jobs ----

// A record: the kind's address with marks, the depth of its spawn or its number, the parameters.
// Called in place: the scheduler ignores the record, but its parameters are still read.
const RUNNING: u32 = 3;
const STACK_BYTES: i32 = 524288;

// The host knows all words, and writes the first four at heartbeats and within calls.
const REAL_FLOOR: usize = WORD_BYTES_MIN, TOP: usize = WORD_BYTES_MIN + STACK_TOP, KEPT: usize = WORD_BYTES_MIN + STACK_KEPT;
const control: usize = memory.data(32, 8);
const stack: usize = memory.data(STACK_BYTES, 8);
const end: usize = stack + <usize>STACK_BYTES;

// @ts-ignore: decorator
@inline function limit(): u32 { return load<u32>(control); }
// @ts-ignore: decorator
@inline function floor(): u32 { return load<u32>(control, WORD_FLOOR); }
// @ts-ignore: decorator
@inline function depth(): u32 { return load<u32>(control, WORD_DEPTH); }
// @ts-ignore: decorator
@inline function top(): u32 { return load<u32>(control, TOP); }
// @ts-ignore: decorator
@inline function realFloor(): u32 { return load<u32>(control, REAL_FLOOR); }
// @ts-ignore: decorator
@inline function setTop(to: u32): void { store<u32>(control, to, TOP); }

function countKept(more: i32): void { store<u32>(control, load<u32>(control, KEPT) + more, KEPT); }

function looksUp(): bool { return depth() < load<u32>(control, WORD_LOOKUP_BELOW); }

function moveFloor(to: u32): void {
  store<u32>(control, to, REAL_FLOOR);
  store<u32>(control, looksUp() ? FLOOR_OLDEST : to, WORD_FLOOR);
}

function setPaths(): void {
  store<u32>(control, looksUp() ? LIMIT_CLOSED : <u32>end);
  moveFloor(realFloor());
}

// Continues at another depth; a pending alarm stays pending.
function enter(to: u32): void {
  store<u32>(control, to, WORD_DEPTH);
  if (limit() != LIMIT_ALARM) setPaths();
}

const SILENT = 0, HUNGRY = 1, DRAIN = 2;

function answerAlarm(): i32 {
  if (limit() != LIMIT_ALARM) return SILENT;
  const alarm = floor() == FLOOR_ALL ? DRAIN : HUNGRY;
  setPaths();
  return alarm;
}

function attach(): void {
  setTop(<u32>stack);
  store<u32>(control, <u32>end);
  moveFloor(<u32>stack);
  abiAttach(control);
  abiLatent(control + REAL_FLOOR, RECORD_BYTES);
  enter(0);
}

// A kind's record; the host knows the first KIND_BYTES bytes.
const PARAMETER_BYTES: usize = KIND_BYTES, RECORD_BYTES: usize = KIND_BYTES + 4, REGISTERED: usize = KIND_BYTES + 8,
  NAME: usize = KIND_BYTES + 12, NAME_LENGTH: usize = KIND_BYTES + 16;
const WHOLE_KIND_BYTES: i32 = <i32>KIND_BYTES + 24;

// @ts-ignore: decorator
@inline function kindOf(record: u32): usize { return <usize>(load<u32>(record) & ~MARKS); }
// @ts-ignore: decorator
@inline function isMarked(record: u32, mark: u32): bool { return (load<u32>(record) & mark) != 0; }
// @ts-ignore: decorator
@inline function mark(record: u32, with_: u32): void { store<u32>(record, load<u32>(record) | with_); }

function numberOf(kind: usize): u32 {
  if (load<u32>(kind, REGISTERED) == 0) {
    store<u32>(kind, abiRegister(load<u32>(kind, NAME), load<u32>(kind, NAME_LENGTH), kind), KIND_NUMBER);
    store<u32>(kind, 1, REGISTERED);
  }
  return load<u32>(kind, KIND_NUMBER);
}

// Offers the oldest latent job to the host, which may raise the alarm again within the call.
function exposeOldest(): bool {
  let record = realFloor();
  while (record < top() && isMarked(record, HOLE)) record += load<u32>(kindOf(record), RECORD_BYTES);
  moveFloor(record);
  if (record >= top()) return false;
  const kind = kindOf(record);
  const number = numberOf(kind);
  const next = record + load<u32>(kind, RECORD_BYTES);
  // The floor moves first: an alarm that is raised within the call must not be overwritten.
  moveFloor(next);
  const job = abiExpose(number, <usize>record + HEADER, load<u32>(kind, PARAMETER_BYTES), load<u32>(record, 4));
  if (job == 0) {
    if (realFloor() == next) {
      store<u32>(control, record, REAL_FLOOR);
      if (floor() < FLOOR_ALL) store<u32>(control, record, WORD_FLOOR);
    }
    return false;
  }
  store<u32>(record, job, 4);
  mark(record, EXPOSED);
  return true;
}

function expose(alarm: i32): void {
  if (alarm == HUNGRY) exposeOldest();
  if (alarm == DRAIN) while (exposeOldest()) {}
}

// Removes a dead record: the top moves down if it was the last; otherwise it becomes a hole.
function remove(record: u32, bytes: u32): void {
  if (record + bytes != top()) {
    store<u32>(record, (load<u32>(record) & ~MARKS) | HOLE);
    return;
  }
  setTop(record);
  if (realFloor() > record) moveFloor(record);
}

// Whether a record of this size fits on top of the stack, after freeing the holes at its end if needed. A stack that
// stays full is not swept again for a while.
let sweepAfter = 0;
function makeRoom(bytes: u32): bool {
  if (top() + bytes <= <u32>end) return true;
  if (sweepAfter-- > 0) return false;
  sweepAfter = 4096;
  let record = <u32>stack, liveEnd = record;
  while (record < top()) {
    const next = record + load<u32>(kindOf(record), RECORD_BYTES);
    if ((load<u32>(record) & MARKS) != HOLE) liveEnd = next;
    record = next;
  }
  setTop(liveEnd);
  if (realFloor() > liveEnd) moveFloor(liveEnd);
  return top() + bytes <= <u32>end;
}

// Ends this instance: the job has failed.
export function fail(why: string): void {
  const text = String.UTF8.encode(why);
  abiFail(FAULT_ENCODING, changetype<usize>(text), text.byteLength);
  unreachable();
}

// ---- jobs ----

// A kind of job, from an unmanaged class of numbers to a number.
export class Kind<P, R> {
  private kind: usize;
  private name: ArrayBuffer;

  private body: (parameters: P) => R = (parameters: P): R => { unreachable(); return <R>0; };

  constructor(name: string) {
    this.name = String.UTF8.encode(name);
    const bytes: u32 = offsetof<P>();
    this.kind = heap.alloc(WHOLE_KIND_BYTES);
    memory.fill(this.kind, 0, WHOLE_KIND_BYTES);
    store<u32>(this.kind, 1); // coarse until measured
    store<u32>(this.kind, bytes, PARAMETER_BYTES);
    store<u32>(this.kind, (<u32>HEADER + bytes + 7) & ~7, RECORD_BYTES);
    store<u32>(this.kind, <u32>changetype<usize>(this.name), NAME);
    store<u32>(this.kind, this.name.byteLength, NAME_LENGTH);
  }

  // Sets the job's function: once, at the module's top level.
  define(body: (parameters: P) => R): void { this.body = body; }

  // Calls the job here and now.
  // @ts-ignore: decorator
  @inline call(parameters: P): R { return this.body(parameters); }

  // Spawns the job and returns its handle. The job runs at its sync, unless an idle worker takes it.
  spawn(parameters: P): u32 {
    const kind = this.kind;
    store<u64>(kind, load<u64>(kind, KIND_SPAWNED) + 1, KIND_SPAWNED);
    let record = top();
    const bytes = load<u32>(kind, RECORD_BYTES);
    if (record + bytes <= limit() && load<u32>(kind) == 0) {
      this.put(record, bytes, parameters);
      return record;
    }
    const alarm = answerAlarm();
    numberOf(kind);
    if (!makeRoom(bytes)) {
      // The stack is full: the parameters are kept apart, and the handle is odd. Older jobs can still be exposed.
      const kept = <u32>heap.alloc(bytes);
      countKept(1);
      store<u32>(kept, depth(), 4);
      memory.copy(<usize>kept + HEADER, changetype<usize>(parameters), offsetof<P>());
      expose(alarm);
      return kept | 1;
    }
    record = top();
    this.put(record, bytes, parameters);
    if (alarm == SILENT && (load<u32>(kind) != 0 || looksUp())) exposeOldest();
    else expose(alarm);
    return record;
  }

  private put(record: u32, bytes: u32, parameters: P): void {
    store<u32>(record, <u32>this.kind);
    store<u32>(record, depth(), 4);
    memory.copy(<usize>record + HEADER, changetype<usize>(parameters), offsetof<P>());
    setTop(record + bytes);
  }

  // The job's result: computed here if no other worker has taken the job, otherwise waited for.
  sync(handle: u32): R {
    const outside = depth();
    if ((handle & 1) != 0) {
      const kept = handle & ~1;
      countKept(-1);
      expose(answerAlarm());
      const result = this.inPlace(kept, load<u32>(kept, 4) + 1, outside);
      heap.free(kept);
      return result;
    }
    const record = handle;
    const bytes = load<u32>(this.kind, RECORD_BYTES);
    if (record >= floor() && record + bytes == top()) {
      // The record stays below the call's own spawns, as its parameters are read in place.
      mark(record, RUNNING);
      store<u32>(control, outside + 1, WORD_DEPTH);
      const result = this.body(changetype<P>(<usize>record + HEADER));
      store<u32>(control, outside, WORD_DEPTH);
      remove(record, bytes);
      return result;
    }
    const alarm = answerAlarm();
    if (alarm == DRAIN) expose(alarm); // this job as well: another host continues it
    if (!isMarked(record, EXPOSED)) {
      const at = load<u32>(record, 4);
      mark(record, RUNNING);
      expose(alarm);
      const result = this.inPlace(record, at + 1, outside);
      remove(record, bytes);
      return result;
    }
    if (alarm == HUNGRY) expose(alarm);
    const job = load<u32>(record, 4);
    const answer = abiSync(job);
    const low = <u32>answer;
    mark(record, RUNNING);
    switch (<u32>(answer >> 32)) {
      case SYNC_DONE: {
        if (low != sizeof<R>()) fail("a result breaks the ABI: it has the wrong size");
        const place = memory.data(16, 8);
        abiTake(place);
        remove(record, bytes);
        return load<R>(place);
      }
      case SYNC_RECLAIMED:
      case SYNC_RECLAIMED_RECORD: {
        expose(answerAlarm());
        const result = this.inPlace(record, low + 1, outside);
        remove(record, bytes);
        if (<u32>(answer >> 32) == SYNC_RECLAIMED_RECORD) {
          const place = memory.data(16, 8);
          store<R>(place, result);
          abiRecord(job, place, <u32>sizeof<R>());
        }
        return result;
      }
      default:
        abiFail(FAULT_CHILD, 0, 0);
    }
    unreachable();
    return <R>0;
  }

  private inPlace(record: u32, inside: u32, outside: u32): R {
    enter(inside);
    const result = this.body(changetype<P>(<usize>record + HEADER));
    enter(outside);
    return result;
  }

  // Aborts a job that will not be synced.
  drop(handle: u32): void {
    if ((handle & 1) == 0 && isMarked(handle, EXPOSED)) abiAbandon(load<u32>(handle, 4));
    else store<u64>(this.kind, load<u64>(this.kind, KIND_DROPPED) + 1, KIND_DROPPED);
    if ((handle & 1) != 0) {
      countKept(-1);
      heap.free(handle & ~1);
    } else remove(handle, load<u32>(this.kind, RECORD_BYTES));
  }

  // The body of the job's export.
  run(length: u32): u64 {
    attach();
    if (length != offsetof<P>()) fail("its parameters break the ABI: they have the wrong size");
    const parameters = heap.alloc(length);
    abiTake(parameters);
    const result = this.body(changetype<P>(parameters));
    const place = heap.alloc(16);
    store<R>(place, result);
    return (<u64>place << 32) | sizeof<R>();
  }
}

// ---- entry points ----

// The words of the command line.
export class Words {
  readonly all: string[] = [];
  private at: usize;
  private end: usize;

  constructor(length: u32) {
    attach();
    const bytes = heap.alloc(length + 1);
    abiTake(bytes);
    this.at = bytes;
    this.end = bytes + length;
    const count = this.varint();
    for (let index: u32 = 0; index < count; index++) {
      const size = this.varint();
      if (<usize>size > this.end - this.at) fail("the words of the command line do not decode");
      this.all.push(String.UTF8.decodeUnsafe(this.at, size));
      this.at += size;
    }
  }

  private varint(): u32 {
    let value: u32 = 0;
    for (let shift: u32 = 0; shift < 35 && this.at < this.end; shift += 7) {
      const byte = load<u8>(this.at++);
      value |= <u32>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    fail("the words of the command line do not decode");
    return 0;
  }

  // The word as a whole number, or -1.
  number(index: i32): i64 {
    if (index >= this.all.length) return -1;
    const word = this.all[index];
    let value: i64 = 0;
    for (let at = 0; at < word.length; at++) {
      const digit = word.charCodeAt(at) - 48;
      if (digit < 0 || digit > 9 || value > (i64.MAX_VALUE - digit) / 10) return -1;
      value = value * 10 + digit;
    }
    return word.length == 0 ? -1 : value;
  }
}

function outputOf(kind: u32, text: string): u64 {
  const bytes = String.UTF8.encode(text);
  const place = heap.alloc(bytes.byteLength + 8);
  let at = place;
  store<u8>(at++, <u8>kind);
  let rest: u32 = bytes.byteLength;
  for (; rest >= 128; rest >>= 7) store<u8>(at++, <u8>(rest | 128));
  store<u8>(at++, <u8>rest);
  memory.copy(at, changetype<usize>(bytes), bytes.byteLength);
  return (<u64>place << 32) | (at - place + bytes.byteLength);
}

// A run's output, or the reason why there is none: the return value of an entry point.
export function text(output: string): u64 { return outputOf(OUTCOME_TEXT, output); }
export function failed(why: string): u64 { return outputOf(OUTCOME_FAILED, why); }
export function badInput(why: string): u64 { return outputOf(OUTCOME_BAD_INPUT, why); }

// Reports a word as bad input to the user, for example an unknown flag.
export function badWord(words: Words, index: i32, why: string): u64 {
  return badInput(index < words.all.length ? "`" + words.all[index] + "` is not understood: " + why : why);
}

// A named input of the run; null when there is none.
export function input(name: string): ArrayBuffer | null {
  const bytes = String.UTF8.encode(name);
  const length = abiInput(changetype<usize>(bytes), bytes.byteLength);
  if (length == u64.MAX_VALUE) return null;
  const buffer = new ArrayBuffer(<i32>length);
  abiTake(changetype<usize>(buffer));
  return buffer;
}

// A line of the run's log.
export function log(line: string): void {
  const bytes = String.UTF8.encode(line);
  abiLog(changetype<usize>(bytes), bytes.byteLength);
}

// Reports the root job's progress.
export function progress(done: u64, total: u64): void { abiProgress(done, total); }

// The language's runtime calls this to end the program (`--use abort=…`).
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  fail((message ? message : "the app gave up") + ", at " + (file ? file : "?") + ":" + line.toString());
}
