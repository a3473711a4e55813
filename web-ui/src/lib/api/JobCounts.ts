// Made from the types of the API; see api/src.
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
 * Run, in place or separately.
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
 * Stolen, and lost with a thief that crashed, as the hosts that had lent them count: those that the thief had not begun are
 * included. Lost root jobs are not, but in `root_losses` of the run.
 */
lost: number, 
/**
 * Stolen, begun, and given back by a thief that left or paused, or had no room. Root jobs are included, and count at the
 * host that gave them back.
 */
given_back: number, 
/**
 * Lost and begun again, each once, however often it was lost. It may be more than `lost`, since the root job, jobs below a
 * lost one, and orphans of jobs that were given back are included, and less, since results are reused and adopted instead.
 * Jobs that a host gave back when it left, and those of a run that was suspended, are not lost.
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
