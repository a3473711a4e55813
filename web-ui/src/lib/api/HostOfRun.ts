// Made from the coordinator's types; see coordinator/src/api/types.
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
 * Its name; empty when that is not known any more.
 */
name: string, 
/**
 * Its site.
 */
site: string, 
/**
 * Whether it is still there. One that is not has left or was given up: pages and commands call it gone.
 */
there: boolean, 
/**
 * What became of jobs there.
 */
jobs: JobCounts, 
/**
 * Processor time in guests, in seconds.
 */
work_s: number, 
/**
 * For how long its workers computed, together, in seconds of the clock; see `computed_s` of the run.
 */
computed_s: number, 
/**
 * Of `work_s`, what had been done before; see `redone_work_s` of the run.
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
