// Made from the types of the API; see api/src.
import type { JobCounts } from "./JobCounts";

/**
 * A host that took part in a run.
 */
export type HostOfRun = { 
/**
 * Its id.
 */
host: string, 
/**
 * Its name; empty if it is not known any more.
 */
name: string, 
/**
 * Its site.
 */
site: string, 
/**
 * Whether it is still in the grid. If not, it has left or was given up: pages and commands call it gone.
 */
there: boolean, 
/**
 * Whether it is awaited: its link is broken, or it has not come back since the coordinator was restarted. It is given up
 * unless it reconnects soon; until then, `workers` is what it last reported, and `busy` is null. False once the run is over.
 */
away: boolean, 
/**
 * What became of jobs there.
 */
jobs: JobCounts, 
/**
 * Processor time in guests, in seconds.
 */
work_s: number, 
/**
 * Wall-clock time for which its workers computed, summed over them, in seconds; see `computed_s` of the run.
 */
computed_s: number, 
/**
 * Updates of shared objects that its jobs made.
 */
updates: number, 
/**
 * Size of its replicas of shared objects, in bytes.
 */
shared_bytes: number, 
/**
 * Workers that compute now, for the run or to check its results; null if that is not known: the host has not reported since it was given the run or came
 * back after a restart of the coordinator, or it is `silent` or `away`.
 */
busy: number | null, 
/**
 * Workers.
 */
workers: number, };
