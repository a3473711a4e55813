// Made from the coordinator's types; see coordinator/src/api/types.
import type { JobCounts } from "./JobCounts";

/**
 * A host.
 */
export type Host = { 
/**
 * Its id.
 */
id: string, 
/**
 * Its name.
 */
name: string, 
/**
 * Its site.
 */
site: string, 
/**
 * Its workers.
 */
threads: number, 
/**
 * Of its software.
 */
version: string, 
/**
 * Whether its link is open.
 */
connected: boolean, 
/**
 * Why it takes no new work.
 */
paused: string | null, 
/**
 * When it joined. That it lost its link since, or that the coordinator was started again, changes nothing.
 */
since: string, 
/**
 * Runs whose app it has loaded.
 */
runs: Array<number>, 
/**
 * What became of jobs there, in runs that are under way and in those that have ended while it was there and
 * this coordinator ran.
 */
jobs: JobCounts, 
/**
 * Workers that compute now.
 */
busy: number, 
/**
 * `working`: workers compute. `idle`: none does. `paused`: it takes no work. `away`: its link is broken, and it is given up
 * unless it is back in a moment. One that was given up or has left is gone: it is in no list, and in a run `there` is
 * false.
 */
state: string, 
/**
 * Why it does nothing, in a sentence.
 */
why_idle: string | null, 
/**
 * Jobs that it got from other hosts, in the same runs.
 */
steals_in: number, 
/**
 * Jobs that other hosts got from it, in the same runs.
 */
steals_out: number, 
/**
 * To the coordinator and back.
 */
rtt_ms: number | null, 
/**
 * Jobs that it runs in a second of processor time, over the median of the hosts that work on the same run; of
 * several runs, the mean weighted by its work. None until it has worked for a second and run a hundred
 * jobs of a run of which another host has, too.
 */
speed: number | null, };
