/** The jobs of a tree, a column a property, outside of what is reactive. A job's place is its index. */

import { BadFrame, NOBODY, PLACES_MAX, RECORD_BYTES, type TreeFrame } from '../feed/frame.ts';
import type { TreeTables } from '../types.ts';

export { NOBODY };
export const STATES = ['running', 'done', 'failed', 'aborted', 'lost', 'reused', 'adopted', 'given back'] as const;
export type JobState = (typeof STATES)[number];
export const RUNNING = 0;
export const FAILED = 2;
export const LOST = 4;
/** Nothing has come of this place. */
export const UNKNOWN = 255;
/** Flags. */
export const REDONE = 1;
/** The kind of the root, which is the run's entry point. */
export const ROOT_KIND = 0xffff;
/** An end that has not come. */
export const NOT_YET = 0xffff_ffff;
export const NO_WORKER = 0xffff;

const CAPACITY_MIN = 1024;

export class Tree {
  /** Places from here on are unknown. */
  length = 0;
  parent = new Uint32Array(0);
  tagHigh = new Uint32Array(0);
  tagLow = new Uint32Array(0);
  begun = new Uint32Array(0);
  ended = new Uint32Array(0);
  /** Processor time, descendants included; NaN while unknown. */
  workUs = new Float32Array(0);
  /** Places in the tables. */
  host = new Uint32Array(0);
  kind = new Uint16Array(0);
  depth = new Uint16Array(0);
  state = new Uint8Array(0);
  flags = new Uint8Array(0);
  worker = new Uint16Array(0);
  /** Jobs below it that the tree has no room for. */
  rolled = new Uint32Array(0);

  tables: TreeTables = { hosts: [], kinds: [], shown: 0, total: 0, left_out: 0, entry_point: '' };
  /** Jobs that are known. */
  known = 0;
  counts = new Uint32Array(STATES.length);
  redone = 0;
  /** The newest time that was reported. */
  newestMs = 0;
  /** Whether all parts of the snapshot have come. */
  isWhole = false;
  /** Counts changes of any kind. */
  version = 0;
  /** Counts changes of which job is below which. */
  shape = 0;

  /** Takes over what a frame says; `seq` 0 begins anew. */
  apply(frame: TreeFrame): void {
    if (frame.seq === 0) this.clear();
    this.tables = { ...this.tables, ...frame.tables };
    for (let record = 0, at = 0; record < frame.count; record += 1, at += RECORD_BYTES) {
      const place = frame.records.getUint32(at, true);
      if (place >= PLACES_MAX) throw new BadFrame(`a job has the place ${place}`);
      if (place >= this.state.length) this.#grow(place + 1);
      this.#record(place, frame.records, at);
    }
    if (frame.kind === 'last') this.isWhole = true;
    this.version += 1;
  }

  clear(): void {
    this.state.fill(UNKNOWN);
    this.counts.fill(0);
    this.length = this.known = this.redone = this.newestMs = 0;
    this.isWhole = false;
    this.version += 1;
    this.shape += 1;
  }

  #record(place: number, records: DataView, at: number): void {
    const parent = records.getUint32(at + 4, true);
    const state = Math.min(records.getUint8(at + 40), STATES.length - 1);
    const flags = records.getUint8(at + 41);
    const before = this.state[place];
    if (before === UNKNOWN) {
      this.known += 1;
      this.length = Math.max(this.length, place + 1);
      this.shape += 1;
    } else {
      this.counts[before] -= 1;
      this.redone -= this.flags[place] & REDONE;
      if (this.parent[place] !== parent) this.shape += 1;
    }
    this.counts[state] += 1;
    this.redone += flags & REDONE;
    this.parent[place] = parent;
    this.tagLow[place] = records.getUint32(at + 8, true);
    this.tagHigh[place] = records.getUint32(at + 12, true);
    const begun = (this.begun[place] = records.getUint32(at + 16, true));
    const ended = (this.ended[place] = records.getUint32(at + 20, true));
    this.newestMs = Math.max(this.newestMs, begun === NOT_YET ? 0 : begun, ended === NOT_YET ? 0 : ended);
    this.workUs[place] = records.getFloat64(at + 24, true);
    this.host[place] = records.getUint32(at + 32, true);
    this.kind[place] = records.getUint16(at + 36, true);
    this.depth[place] = records.getUint16(at + 38, true);
    this.state[place] = state;
    this.flags[place] = flags;
    this.worker[place] = records.getUint16(at + 42, true);
    this.rolled[place] = records.getUint32(at + 44, true);
  }

  /** A column at a time, so that little is held twice. */
  #grow(length: number): void {
    const capacity = Math.min(PLACES_MAX, Math.max(CAPACITY_MIN, 2 * this.state.length, length));
    const wider = <T extends Uint32Array | Uint16Array | Uint8Array | Float32Array>(old: T): T => {
      const column = new (old.constructor as new (length: number) => T)(capacity);
      column.set(old as never);
      return column;
    };
    const known = this.state.length;
    this.parent = wider(this.parent);
    this.tagHigh = wider(this.tagHigh);
    this.tagLow = wider(this.tagLow);
    this.begun = wider(this.begun);
    this.ended = wider(this.ended);
    this.workUs = wider(this.workUs);
    this.host = wider(this.host);
    this.kind = wider(this.kind);
    this.depth = wider(this.depth);
    this.state = wider(this.state).fill(UNKNOWN, known);
    this.flags = wider(this.flags);
    this.worker = wider(this.worker);
    this.rolled = wider(this.rolled);
  }

  /** 16 hexadecimal digits. */
  tag(place: number): string {
    return digits(this.tagHigh[place]) + digits(this.tagLow[place]);
  }

  functionOf(place: number): string {
    const kind = this.kind[place];
    return kind === ROOT_KIND ? this.tables.entry_point : (this.tables.kinds[kind] ?? `job kind ${kind}`);
  }

  hostName(place: number): string {
    return this.tables.hosts[this.host[place]]?.name ?? '–';
  }

  stateOf(place: number): JobState {
    return STATES[this.state[place]] ?? 'running';
  }

  /** The job with this tag, or `NOBODY`. */
  find(tag: string): number {
    if (!/^[0-9a-f]{16}$/i.test(tag)) return NOBODY;
    const high = parseInt(tag.slice(0, 8), 16);
    const low = parseInt(tag.slice(8), 16);
    for (let place = 0; place < this.length; place += 1) {
      if (this.tagLow[place] === low && this.tagHigh[place] === high && this.state[place] !== UNKNOWN) return place;
    }
    return NOBODY;
  }
}

function digits(half: number): string {
  return half.toString(16).padStart(8, '0');
}
