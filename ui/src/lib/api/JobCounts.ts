// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * What [`Jobs`] looks like: the protocol knows nothing of pages.
 */
export type JobCounts = { 
/**
 * Spawned.
 */
spawned: number, 
/**
 * Made visible to the scheduler.
 */
exposed: number, 
/**
 * Run.
 */
executed: number, 
/**
 * Taken by another worker of the same host.
 */
stolen_local: number, 
/**
 * Stolen from other hosts.
 */
stolen: number, 
/**
 * Of these, from other sites.
 */
stolen_wide: number, 
/**
 * Not run because the result table had their results.
 */
reused: number, 
/**
 * Lost with a host and run again.
 */
redone: number, 
/**
 * Orphans whose results were used.
 */
adopted: number, 
/**
 * Results recorded for the case of a crash.
 */
recorded: number, 
/**
 * Stopped because nobody wanted them any more.
 */
aborted: number, };
