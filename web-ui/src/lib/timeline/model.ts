/** Rows of a timeline: workers, by site and host, and which of them and what time are seen. */

import { CLOCK_STEPS_S, clock } from '../format.ts';
import { ACTIVITIES, type Activity } from '../palette.ts';
import type { IdleSpan, TimelineRow, TimelineValue } from '../types.ts';

export const ROW_PX = 18;
/** The empty part of a row, above it. */
export const ROW_GAP_PX = 3;
const SPAN_MS_MIN = 500;

/** By site, host and worker. */
export function sorted(rows: TimelineRow[]): TimelineRow[] {
  const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return rows.toSorted((a, b) => compare(a.site, b.site) || compare(a.host_name, b.host_name) || a.worker - b.worker);
}

/** Hosts report at different moments: what a worker did is known at most this much later than what another did. */
const LATE_MS_MAX = 2000;

/** Where the last bucket ends. While the run is under way, the last one that all workers that still report have reported. */
export function endMs(value: TimelineValue, isOver: boolean): number {
  const ends = value.rows.map((row) => row.work.findLastIndex((share) => share !== null) + 1);
  const newest = Math.max(0, ...value.rows.map((row) => row.work.length));
  const late = LATE_MS_MAX / value.bucket_ms;
  const buckets = isOver ? newest : Math.min(newest, ...ends.filter((end) => end > 0 && end >= newest - late));
  return value.from_ms + buckets * value.bucket_ms;
}

export class Window {
  fromMs = 0;
  toMs = SPAN_MS_MIN;
  /** Whether the right end follows what comes. */
  follows = true;
  topPx = 0;
  widthPx = 1;
  heightPx = 1;
  #least = 0;
  #most = SPAN_MS_MIN;

  /** The whole of time that there is. */
  bounds(least: number, most: number): void {
    const isWhole = this.fromMs <= this.#least && this.toMs >= this.#most;
    this.#least = least;
    this.#most = Math.max(most, least + SPAN_MS_MIN);
    if (isWhole) this.#set(this.#least, this.#most - this.#least);
    else if (this.follows) this.#set(this.#most - (this.toMs - this.fromMs), this.toMs - this.fromMs);
  }

  zoom(factor: number, px: number): void {
    const span = this.toMs - this.fromMs;
    const wanted = Math.min(this.#most - this.#least, Math.max(SPAN_MS_MIN, span / factor));
    const share = px / this.widthPx;
    this.#set(this.fromMs + share * (span - wanted), wanted);
    this.follows = this.toMs >= this.#most;
  }

  pan(px: number): void {
    const span = this.toMs - this.fromMs;
    this.#set(this.fromMs + (px / this.widthPx) * span, span);
    this.follows = this.toMs >= this.#most;
  }

  scroll(px: number, rows: number): void {
    this.topPx = Math.max(0, Math.min(this.topPx + px, rows * ROW_PX - this.heightPx));
  }

  /** Moves as little as brings a moment of a row into sight. */
  reveal(row: number, ms: number): void {
    const y = row * ROW_PX;
    if (y < this.topPx) this.topPx = y;
    else if (y + ROW_PX > this.topPx + this.heightPx) this.topPx = y + ROW_PX - this.heightPx;
    if (ms < this.fromMs || ms > this.toMs) this.pan(this.x(ms) - this.widthPx / 2);
  }

  show(fromMs: number, toMs: number): void {
    if (!(toMs - fromMs >= SPAN_MS_MIN)) return;
    this.#set(fromMs, toMs - fromMs);
    this.follows = this.toMs >= this.#most;
  }

  #set(from: number, span: number): void {
    const within = Math.min(span, this.#most - this.#least);
    this.fromMs = Math.max(this.#least, Math.min(from, this.#most - within));
    this.toMs = this.fromMs + within;
  }

  x(ms: number): number {
    return ((ms - this.fromMs) / (this.toMs - this.fromMs)) * this.widthPx;
  }

  ms(x: number): number {
    return this.fromMs + (x / this.widthPx) * (this.toMs - this.fromMs);
  }
}

/** Of a run, `idle` is all the time in which a worker did nothing for it. */
export type Shares = Record<Activity, number> & { idle: number };

/** What shares are called. */
export const NAMES: Record<keyof Shares, string> = {
  work: 'work',
  steal: 'steal',
  wait: 'wait',
  idle: 'idle or busy with other runs',
};

/** What workers did between two times: means over what is known of them; null if none was there. */
export function shares(value: TimelineValue, rows: TimelineRow[], fromMs: number, toMs: number): Shares | null {
  const first = Math.max(0, Math.floor((fromMs - value.from_ms) / value.bucket_ms));
  const last = Math.ceil((toMs - value.from_ms) / value.bucket_ms);
  const sums = { work: 0, steal: 0, wait: 0, idle: 0 };
  let buckets = 0;
  for (const row of rows) {
    for (let at = first; at < Math.min(row.work.length, last); at += 1) {
      if (row.work[at] === null) continue;
      buckets += 1;
      for (const activity of ACTIVITIES) sums[activity] += row[activity][at] ?? 0;
    }
  }
  if (buckets === 0) return null;
  for (const activity of ACTIVITIES) sums[activity] /= buckets;
  sums.idle = Math.max(0, 1 - sums.work - sums.steal - sums.wait);
  return sums;
}

export const COLUMNS = Object.keys(NAMES) as (keyof Shares)[];

/** Shares in percent that add up to 100, in the order of `COLUMNS`: those with the largest remainders are rounded up. */
export function percents(what: Shares): number[] {
  const parts = COLUMNS.map((one) => what[one] * 100);
  const floors = parts.map(Math.floor);
  const most = COLUMNS.map((_, at) => at).sort((a, b) => (parts[b] % 1) - (parts[a] % 1));
  const missing = floors.reduce((left, part) => left - part, 100);
  return floors.map((part, at) => part + Number(most.indexOf(at) < missing));
}

/** Shares in words, those that are not nothing. */
export function said(what: Shares): string {
  const parts = percents(what);
  return COLUMNS.flatMap((one, at) => (parts[at] ? `${NAMES[one]} ${parts[at]} %` : [])).join(', ');
}

/** From this share on, it wants to be explained why a worker did not work. */
const EXPLAINED_MIN = 0.2;
const REASONS = {
  steal: 'no host had work to give',
  wait: 'its host waited for results',
  idle: 'not known',
};

/** Why this host's worker did not work at this time: what is reported of it, or else what it did instead. */
export function idleWhy(spans: IdleSpan[], host: string, ms: number, what: Shares): string | null {
  if (1 - what.work < EXPLAINED_MIN) return null;
  const told = spans.findLast((span) => (span.host ?? host) === host && span.from_ms <= ms && ms <= (span.to_ms ?? Infinity));
  const most = (Object.keys(REASONS) as (keyof typeof REASONS)[]).reduce((most, one) => (what[one] > what[most] ? one : most));
  return told?.text ?? REASONS[most];
}

/** Times at which an axis has its marks. */
export function ticks(fromMs: number, toMs: number, most: number): number[] {
  const steps = [0.1, 0.25, 0.5, ...CLOCK_STEPS_S].map((seconds) => seconds * 1000);
  const step = steps.find((step) => (toMs - fromMs) / step <= most) ?? (toMs - fromMs) / most;
  const marks: number[] = [];
  for (let at = Math.ceil(fromMs / step) * step; at <= toMs; at += step) marks.push(at);
  return marks;
}

/** The label of a mark begins so far to its right, and a character of it is at most so wide. */
const LABEL_GAP_PX = 4;
const CHARACTER_PX = 8;

/** Whether the label of a mark ends before its axis does. */
export function fits(label: string, x: number, widthPx: number): boolean {
  return x + LABEL_GAP_PX + label.length * CHARACTER_PX <= widthPx;
}

/** The spans that are worth a line: not those that begin and end at the same time, as it is written. */
export function listed(spans: IdleSpan[]): IdleSpan[] {
  return spans.filter((span) => span.to_ms === null || clock(span.from_ms) !== clock(span.to_ms));
}
