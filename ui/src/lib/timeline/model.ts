/** Rows of a timeline: workers, by site and host, and which of them and what time are seen. */

import { ACTIVITIES, type Activity } from '../palette.ts';
import type { IdleSpan, TimelineRow, TimelineValue } from '../types.ts';

export const ROW_PX = 18;
/** So much of a row is empty, above it. */
export const ROW_GAP_PX = 3;
const SPAN_MS_MIN = 500;

/** By site, host and worker. */
export function sorted(rows: TimelineRow[]): TimelineRow[] {
  const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return rows.toSorted(
    (a, b) =>
      compare(a.site, b.site) ||
      compare(a.host_name, b.host_name) ||
      compare(a.host, b.host) ||
      a.worker - b.worker,
  );
}

/** Where the last bucket ends. */
export function endMs(value: TimelineValue): number {
  const buckets = value.rows.reduce((most, row) => Math.max(most, row.work.length), 0);
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

/** What a worker did between two times: shares of what is known; null if it was not there. */
export function shares(
  value: TimelineValue,
  row: TimelineRow,
  fromMs: number,
  toMs: number,
): (Record<Activity, number> & { idle: number }) | null {
  const first = Math.max(0, Math.floor((fromMs - value.from_ms) / value.bucket_ms));
  const end = Math.min(row.work.length, Math.ceil((toMs - value.from_ms) / value.bucket_ms));
  const sums = { work: 0, recover: 0, steal: 0, wait: 0, idle: 0 };
  let buckets = 0;
  for (let at = first; at < end; at += 1) {
    if (row.work[at] === null || row.work[at] === undefined) continue;
    buckets += 1;
    for (const activity of ACTIVITIES) sums[activity] += row[activity][at] ?? 0;
  }
  if (buckets === 0) return null;
  for (const activity of ACTIVITIES) sums[activity] /= buckets;
  sums.idle = Math.max(0, 1 - sums.work - sums.recover - sums.steal - sums.wait);
  return sums;
}

/** Why this host had nothing to do at this time, as far as that is told. */
export function idleWhy(spans: IdleSpan[], host: string, ms: number): string | null {
  return spans.findLast((span) => (span.host ?? host) === host && span.from_ms <= ms && ms <= (span.to_ms ?? Infinity))?.text ?? null;
}

/** Times at which an axis has its marks. */
export function ticks(fromMs: number, toMs: number, most: number): number[] {
  const steps = [100, 250, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 864e5];
  const step = steps.find((step) => (toMs - fromMs) / step <= most) ?? (toMs - fromMs) / most;
  const marks: number[] = [];
  for (let at = Math.ceil(fromMs / step) * step; at <= toMs; at += step) marks.push(at);
  return marks;
}
