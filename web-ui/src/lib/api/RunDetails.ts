// Made from the types of the API; see api/src.
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
 * Jobs that ran separately or whose results were reused, by depth, including those for which the tree has no room.
 */
depths: Array<Depth>, 
/**
 * The time that is left.
 */
remaining: Remaining | null, 
/**
 * Why the time left is not known.
 */
remaining_why: string | null, 
/**
 * How many workers computed on average from the run's start on, the figure in `held_up_by`: never more than were in the
 * grid. It is of the time of which anything is known, without that in which the coordinator was away, say. None if the
 * run has not started, nothing is known of it, or the workers' times are no longer kept.
 */
mean_busy: number | null, 
/**
 * The chain from the root down: of each job's children, the one that ended last.
 */
critical_path: Array<CriticalJob>, 
/**
 * Its progress over time.
 */
series: SeriesOfRun, 
/**
 * The newest events, in order of time. Hosts report some a moment later, which are then among earlier ones.
 */
events: Array<RunEvent>, 
/**
 * Names of its jobs.
 */
kinds: Array<string>, 
/**
 * Whether its tree, timeline, series, events and log are kept. For old runs they are not.
 */
is_kept: boolean, };
