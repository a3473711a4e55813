/** Where the lines of a chart are, and the numbers on its axes. */

import { CLOCK_STEPS_S } from './format.ts';

/** Round numbers from 0 to `most`: about `lines` of them, or fewer. */
export function levels(most: number, lines: number): number[] {
  const power = 10 ** Math.floor(Math.log10(most / lines));
  const step = power * ([1, 2, 5].find((times) => times * power * lines >= most) ?? 10);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
}

/** Round moments within a span of time, in milliseconds: about `most` of them, or fewer. */
export function moments(from_ms: number, to_ms: number, most: number): number[] {
  const least_s = (to_ms - from_ms) / 1000 / most;
  const longest_s = CLOCK_STEPS_S[CLOCK_STEPS_S.length - 1];
  const step_ms = 1000 * (CLOCK_STEPS_S.find((step_s) => step_s >= least_s) ?? longest_s * Math.ceil(least_s / longest_s));
  const first = Math.ceil(from_ms / step_ms);
  return Array.from({ length: Math.max(0, Math.floor(to_ms / step_ms) - first + 1) }, (_, at) => (first + at) * step_ms);
}

/** A line through points, for SVG, with a gap where a height is not known; with `floor`, what is between the line and that height. */
export function path(xs: number[], ys: (number | null)[], floor?: number): string {
  let text = '';
  let first: number | null = null;
  for (let at = 0; at <= xs.length; at += 1) {
    const y = ys[at] ?? null;
    if (at < xs.length && y !== null) {
      text += `${first === null ? 'M' : 'L'}${xs[at].toFixed(1)} ${y.toFixed(1)}`;
      first ??= at;
    } else if (first !== null) {
      if (floor !== undefined) text += `V${floor}H${xs[first].toFixed(1)}Z`;
      first = null;
    }
  }
  return text;
}
