// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * What became of jobs, by what hosts count and by what the tree knows.
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
 * Stolen, and lost with a thief that crashed, as their owners count. Lost roots are the run's `root_losses`.
 */
lost: number, 
/**
 * Stolen, begun, and given back by a thief that left, paused or had no room.
 */
given_back: number, 
/**
 * Lost and begun again, by the tree: each once, however often it was lost. Beside those that their owners have
 * lost, these are the root and jobs that were below a lost one; and those are less whose results were reused or
 * adopted. Jobs that a host gave back when it left, and those of a run that was suspended, are not lost.
 */
redone: number, 
/**
 * Not run because the result table had their results.
 */
reused: number, 
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
