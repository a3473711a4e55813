/** Events that are marked on every axis of time: hosts that came and went, and what was started anew. */

import { isBad, signOf } from './signs.ts';
import type { RunEvent } from './types.ts';

export interface Mark {
  ms: number;
  sign: string;
  kind: string;
  text: string;
  /** Something was lost. */
  isBad: boolean;
}

/** Kinds that are marked. */
const MARKED = /^(host_.*|root_lost|coordinator_restarted|suspended|resumed)$/;

export function marksOf(events: RunEvent[]): Mark[] {
  return events
    .filter(({ kind }) => MARKED.test(kind))
    .map(({ kind, t_ms, text }) => ({ ms: t_ms, sign: signOf(kind), kind, text, isBad: isBad(kind) }))
    .sort((a, b) => a.ms - b.ms);
}

/** What matters more is seen where several marks stand together: losses first, then all that stops work, then departures. */
const WEIGHTS: { [kind: string]: number } = { coordinator_restarted: 3, suspended: 3, resumed: 3, host_left: 2, host_paused: 2 };
const weightOf = (mark: Mark): number => (mark.isBad ? 4 : (WEIGHTS[mark.kind] ?? 1));

/** Marks closer to one another than this are drawn as one. */
const APART_PX = 10;

export interface Placed {
  x: number;
  sign: string;
  isBad: boolean;
  /** All that stands here, a line each. */
  text: string;
}

/** Marks by their places from 0 to `widthPx`. Where many stand together, the worst of them is seen. */
export function placed(marks: Mark[], x: (ms: number) => number, widthPx: number): Placed[] {
  const all: Placed[] = [];
  let weight = 0;
  for (const mark of marks) {
    const at = x(mark.ms);
    if (!(at >= 0 && at <= widthPx)) continue;
    const last = all.at(-1);
    if (!last || at - last.x >= APART_PX) {
      all.push({ x: at, sign: mark.sign, isBad: mark.isBad, text: mark.text });
      weight = weightOf(mark);
      continue;
    }
    last.text += `\n${mark.text}`;
    if (weightOf(mark) <= weight) continue;
    [last.sign, last.isBad, weight] = [mark.sign, mark.isBad, weightOf(mark)];
  }
  return all;
}

/** The same where all of a run is seen: what was before its first point, or after its last, stands at the edge. */
export function placedWithin(marks: Mark[], x: (ms: number) => number, [from, to]: [number, number], widthPx: number): Placed[] {
  return placed(marks, (ms) => x(Math.min(Math.max(ms, from), to)), widthPx);
}

/** What kinds of marks there are, and how many of each: `host joined: 2`. */
export function counted(marks: Mark[]): { sign: string; isBad: boolean; text: string }[] {
  const kinds = new Map<string, Mark[]>();
  for (const mark of marks) kinds.set(mark.kind, [...(kinds.get(mark.kind) ?? []), mark]);
  return [...kinds].map(([kind, of]) => ({ sign: of[0].sign, isBad: of[0].isBad, text: `${kind.replace('_', ' ')}: ${of.length}` }));
}
