// Made from the coordinator's types; see coordinator/src/api/types.
import type { CriticalJob } from "./CriticalJob";
import type { Depth } from "./Depth";
import type { Remaining } from "./Remaining";
import type { Run } from "./Run";
import type { RunEvent } from "./RunEvent";
import type { SeriesOfRun } from "./SeriesOfRun";

/**
 * The topic `run/N`, and `/api/v1/runs/{run}/overview`. Always all of it.
 */
export type RunDetails = { 
/**
 * As `/api/v1/runs/{run}`.
 */
run: Run, 
/**
 * Jobs that ran separately, by depth, also those that the tree has no room for.
 */
depths: Array<Depth>, 
/**
 * The time that is left.
 */
remaining: Remaining | null, 
/**
 * Why that cannot be said.
 */
remaining_why: string | null, 
/**
 * How many workers computed, on average: their time by the run's. None where what workers did is no longer kept.
 */
mean_busy: number | null, 
/**
 * From the root down: of each job's children, that which ended last.
 */
critical_path: Array<CriticalJob>, 
/**
 * How it went.
 */
series: SeriesOfRun, 
/**
 * What happened; the newest.
 */
events: Array<RunEvent>, 
/**
 * Names of its jobs.
 */
kinds: Array<string>, 
/**
 * Whether its tree, timeline, series, events and log are kept. Of old runs they are not.
 */
is_kept: boolean, };
