// Made from the types of the API; see api/src.
/**
 * Counts of jobs, by outcome: from the counts of hosts and from the tree.
 */
export type JobCounts = { 
/**
 * Jobs spawned.
 */
spawned: number, 
/**
 * Jobs made visible to the scheduler.
 */
exposed: number, 
/**
 * Jobs that were begun, in place or separately.
 */
executed: number, 
/**
 * Jobs taken by another worker of the same host.
 */
stolen_local: number, 
/**
 * Jobs stolen from other hosts.
 */
stolen: number, 
/**
 * Jobs stolen from other sites; included in `stolen`.
 */
stolen_wide: number, 
/**
 * Stolen jobs lost with a thief that crashed, as counted by the hosts that had lent them. Jobs that the thief had
 * not begun are included. A job of a host that was given up and is back is lost only if it is run again: otherwise its
 * thief continues with it. Lost root jobs are not included; `root_losses` of the run counts them.
 */
lost: number, 
/**
 * Stolen jobs that a thief gave back because it left or paused, and those that it had begun and had no room for.
 * Root jobs are included, and count at the host that gave them back.
 */
given_back: number, 
/**
 * Jobs lost and begun again; each counts once, however often it was lost. This may be more than `lost`, because
 * the root job, jobs below a lost one, and orphans of jobs that were given back are included. It may be less,
 * because results are reused and adopted instead. Jobs that a host gave back when it left, and jobs of a suspended
 * run, are not lost, except for a root that was lost before. For a host: such jobs that it was the last to begin.
 */
redone: number, 
/**
 * Jobs not run because the result table had their results.
 */
reused: number, 
/**
 * Orphans whose results were used.
 */
adopted: number, 
/**
 * Results recorded in case of a crash.
 */
recorded: number, 
/**
 * Jobs stopped before they were done: those that were not wanted any more, and those that a host stopped because it left
 * or paused, or because the run was suspended; the latter are begun again.
 */
aborted: number, };
