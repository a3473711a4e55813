/** What the pages say of a run. */

import type { Caught, Checked, EarlierResults } from './api/index.ts';
import { sentence } from './api.ts';
import { count, moment, percent, plural, seconds } from './format.ts';
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

/**
 * The part of each host's workers that a run is due; null unless it is given to hosts. It has a digit more where a whole
 * number would be nothing, or all of them.
 */
export function due({ share }: Pick<Run, 'share'>): string | null {
  if (share === null) return null;
  return percent(share, share < 0.1 || (share > 0.99 && share < 1) ? 1 : 0);
}

/** What a trust policy asks for; empty for one that only newer coordinators know. */
export function policy(trust: string): string {
  const owners = /^quorum=(\d+)$/.exec(trust)?.[1];
  if (owners) return `${owners} hosts with different keys must agree on each unit`;
  const share = Number(/^audit=(\d(?:\.\d+)?)$/.exec(trust)?.[1] ?? Number.NaN);
  if (Number.isNaN(share)) return '';
  return `of each host’s units, the first 20 and then ${percent(share, 2)} are computed again by another`;
}

/** How far results are checked. An audit checks some units at once, others are checked from the end of the root job on. */
export function checkedUnits(checked: Checked | null, isOver: boolean): string {
  if (!checked) return 'nothing so far';
  const units = plural(checked.units, 'unit');
  if (!checked.is_checking && !isOver && checked.units_checked === 0) return `${units} reported so far; they are checked once the root job has a result`;
  const share = checked.work_share === null ? '' : `, with ${percent(checked.work_share)} of the work`;
  return `${count(checked.units_checked)} of ${units}${share}`;
}

/** How probably a host that lied was found; rounded down, as only what is certain is 100 %. */
export function found({ one_in, probability }: Caught): string {
  const units = one_in === 1 ? 'all of its units' : `one of ${count(one_in)}`;
  return `${Math.floor(100 * probability)} % if it lied in ${units}`;
}

/** The results of earlier runs that a run used. */
export function earlierResults({ jobs, work_s }: EarlierResults, isOver: boolean): string {
  if (jobs === 0) return isOver ? 'none were found' : 'none were found so far';
  return `${plural(jobs, 'job')}, ${seconds(work_s)} of work`;
}

/** Beside the time of a run. */
export function since(run: Pick<Run, 'started_at' | 'state' | 'earlier'>): string {
  if (run.started_at) return `since ${moment(run.started_at)}`;
  return run.state === 'done' && run.earlier ? 'an earlier run had its result' : 'not begun';
}

/** Of a run on which no host works or has worked. */
export function withoutHosts(run: Pick<Run, 'state' | 'earlier' | 'waiting_for'>): string {
  if (run.waiting_for) return sentence(run.waiting_for);
  return run.state === 'done' && run.earlier ? 'No host had to work on it: an earlier run had its result.' : 'No host has begun it.';
}

/** Of a run that reports no progress. */
export function withoutProgress(run: Pick<Run, 'queued_s'>): string {
  return run.queued_s === undefined ? 'No progress has been reported.' : 'The run has not started.';
}
