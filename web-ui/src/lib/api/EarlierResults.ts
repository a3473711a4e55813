// Made from the types of the API; see api/src.
/**
 * Results of earlier runs that a run used.
 */
export type EarlierResults = { 
/**
 * Jobs that were not computed because of them; jobs below those are not counted.
 */
jobs: number, 
/**
 * Processor time that these results took when they were computed, in seconds, with each use. It is not part of the run's
 * `work_s`.
 */
work_s: number, };
