// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * How a run went: points in time, and values at each.
 */
export type SeriesOfRun = { 
/**
 * Milliseconds since the run was submitted.
 */
t_ms: Array<number>, 
/**
 * Workers that computed.
 */
busy: Array<number>, 
/**
 * Workers.
 */
workers: Array<number>, 
/**
 * Jobs run in a second.
 */
jobs_per_s: Array<number>, 
/**
 * Of these, those that were run again.
 */
redone_per_s: Array<number>, };
