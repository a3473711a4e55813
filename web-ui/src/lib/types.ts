/** What the coordinator says, as JSON: types that are made from its own, a few of them made narrower. */

import type { Grid, Run as ApiRun, RunDetails, RunEvent as ApiRunEvent, TreeTable } from './api/index.ts';

export type {
  Alert,
  App,
  CriticalJob,
  Depth as DepthCount,
  Host,
  HostOfRun,
  IdleWhy as IdleSpan,
  JobCounts as Jobs,
  JobDetails as JobDetail,
  Log,
  LogLine,
  Timeline as TimelineValue,
  TimelineRow,
} from './api/index.ts';

/** States of a run. */
export const RUN_STATES = ['queued', 'running', 'suspending', 'suspended', 'done', 'failed', 'cancelled'] as const;
export type RunState = (typeof RUN_STATES)[number];
/** Those in which nothing can happen to it any more. */
const OVER: readonly RunState[] = ['done', 'failed', 'cancelled'];

export type Run = Omit<ApiRun, 'state'> & { state: RunState };

/** Priorities of a run among those of its submitter. */
export const PRIORITIES = ['low', 'normal', 'high'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** Whether nothing can happen to a run any more. */
export function isOver(run: { state: RunState }): boolean {
  return OVER.includes(run.state);
}

export type GridValue = Omit<Grid, 'runs'> & { runs: Run[] };

/** Of whatever kind: newer coordinators may know more of them. */
export type RunEvent = Omit<ApiRunEvent, 'kind'> & { kind: string };

export type RunValue = Omit<RunDetails, 'run' | 'events'> & { run: Run; events: RunEvent[] };

/** What stands beside a tree's records, once all of it has come. */
export type TreeTables = Required<TreeTable>;

/** Why a request was refused: RFC 9457. */
export interface Problem {
  title: string;
  detail: string;
  status: number;
}
