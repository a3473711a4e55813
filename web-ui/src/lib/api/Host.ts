// Made from the types of the API; see api/src.
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
 * The version of its software.
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
 * When it joined. This does not change if it loses its link or the coordinator is restarted.
 */
since: string, 
/**
 * Runs whose app it has loaded.
 */
runs: Array<number>, 
/**
 * Counts of jobs there, in runs under way and in runs that have ended while it was in the grid and this
 * coordinator ran.
 */
jobs: JobCounts, 
/**
 * Workers that compute now, for runs or to check results of other hosts; null if that is not known, as when it is `unknown`, `silent` or `away`.
 */
busy: number | null, 
/**
 * `working`: workers compute. `idle`: no worker computes. `paused`: it takes no work. `unknown`: it was given a run, or
 * came back after a restart of the coordinator, and has not reported since. `silent`: nothing
 * has come from it for one and a half seconds or longer, or for three if no worker computed when it last reported. `away`: its link is broken,
 * and it is given up unless it is back in a moment. A host that was given up or has left is gone: it is in no
 * list, and `there` is false in runs.
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
 * Jobs that other hosts got from it and began, in the same runs, as they report.
 */
steals_out: number, 
/**
 * The round-trip time to the coordinator.
 */
rtt_ms: number | null, 
/**
 * Jobs that it runs in a second of processor time, divided by the median of the hosts that work on the same
 * run; for several runs, the mean weighted by its work. None until it has worked for a second and run a
 * hundred jobs of a run, and another host has done so as well.
 */
speed: number | null, };
