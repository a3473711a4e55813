// Made from the coordinator's types; see coordinator/src/api/types.
import type { JobCounts } from "./JobCounts";

/**
 * A host that worked on a run.
 */
export type HostOfRun = { 
/**
 * Its id.
 */
host: string, 
/**
 * Its name; empty when that is not known any more.
 */
name: string, 
/**
 * Its site.
 */
site: string, 
/**
 * Whether it is still there.
 */
there: boolean, 
/**
 * What became of jobs there.
 */
jobs: JobCounts, 
/**
 * Processor time in guests.
 */
work_s: number, 
/**
 * For how long its workers computed, together, in seconds of the clock; see [`Figures::computed_s`].
 */
computed_s: number, 
/**
 * Of `work_s`, what another host had done before and lost.
 */
redone_work_s: number, 
/**
 * Updates of shared objects that its jobs made.
 */
updates: number, 
/**
 * What its replicas of shared objects take, in bytes.
 */
shared_bytes: number, 
/**
 * Workers that compute now.
 */
busy: number, 
/**
 * Workers.
 */
workers: number, };
