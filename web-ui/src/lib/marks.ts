/** Events that are marked on every axis of time: who came and went, and what was started anew. */

import { isBad, signOf } from './signs.ts';
import type { RunEvent } from './types.ts';

export interface Mark {
  ms: number;
  sign: string;
  /** In a word or two, for legends. */
  name: string;
  text: string;
  /** Something was lost. */
  isBad: boolean;
}

const KINDS = [
  'host_joined',
  'host_left',
  'host_paused',
  'host_returned',
  'host_lost',
  'root_lost',
  'coordinator_restarted',
  'suspended',
  'resumed',
];

export function marksOf(events: RunEvent[]): Mark[] {
  return events
    .filter(({ kind }) => KINDS.includes(kind))
    .map(({ kind, t_ms, text }) => ({ ms: t_ms, sign: signOf(kind), name: kind.replace('_', ' '), text, isBad: isBad(kind) }))
    .sort((a, b) => a.ms - b.ms);
}

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
  for (const mark of marks) {
    const at = x(mark.ms);
    if (!(at >= 0 && at <= widthPx)) continue;
    const last = all.at(-1);
    if (!last || at - last.x >= APART_PX) {
      all.push({ x: at, sign: mark.sign, isBad: mark.isBad, text: mark.text });
      continue;
    }
    last.text += `\n${mark.text}`;
    if (mark.isBad && !last.isBad) [last.sign, last.isBad] = [mark.sign, true];
  }
  return all;
}

/** What kinds of marks there are, and how many of each. */
export function counted(marks: Mark[]): { sign: string; name: string; isBad: boolean; count: number }[] {
  const kinds = new Map<string, { sign: string; name: string; isBad: boolean; count: number }>();
  for (const { sign, name, isBad } of marks) {
    const kind = kinds.get(name) ?? { sign, name, isBad, count: 0 };
    kind.count += 1;
    kinds.set(name, kind);
  }
  return [...kinds.values()];
}
