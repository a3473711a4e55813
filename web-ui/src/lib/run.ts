/** What the pages say of a run. */

import { percent, seconds } from './format.ts';
import type { Run } from './types.ts';

/** Workers compute for a moment before their share of the processors means something. */
const COMPUTED_S_MIN = 2;

/** From its start on; a dash if it has not started. */
export function elapsed(run: Pick<Run, 'elapsed_s' | 'queued_s'>): string {
  return run.queued_s === undefined ? seconds(run.elapsed_s) : '–';
}

/** Of the time in which workers computed, what they got of their processors; null if that is not known. */
export function shareOfCore(of: { work_s: number; computed_s: number } | undefined): string | null {
  return of && of.computed_s > COMPUTED_S_MIN ? percent(Math.min(1, of.work_s / of.computed_s)) : null;
}

/** Beside the work. */
export function ofCore(of: { work_s: number; computed_s: number } | undefined): string {
  const share = shareOfCore(of);
  return share === null ? 'of processor time' : `${share} of a core each`;
}

/** Of a run that reports no progress. */
export function withoutProgress(run: Pick<Run, 'queued_s'>): string {
  return run.queued_s === undefined ? 'No progress has been reported.' : 'The run has not started.';
}
