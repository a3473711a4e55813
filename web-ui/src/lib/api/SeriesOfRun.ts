// Made from the types of the API; see api/src.
/**
 * A run over time: points in time, and values at each.
 */
export type SeriesOfRun = { 
/**
 * Milliseconds since the run was submitted.
 */
t_ms: Array<number>, 
/**
 * Workers that computed, on average from the point before to this one. Hosts report some work late, and then it is
 * added. Null, like all following values, while the coordinator was away, and after that until its hosts have had the
 * time to return and report.
 */
busy: Array<number | null>, 
/**
 * Workers.
 */
workers: Array<number | null>, 
/**
 * Jobs run in a second.
 */
jobs_per_s: Array<number | null>, 
/**
 * Jobs that were begun again in a second.
 */
redone_per_s: Array<number | null>, };
