// Made from the types of the API; see api/src.
import type { Alert } from "./Alert";
import type { Host } from "./Host";
import type { Run } from "./Run";
import type { Status } from "./Status";

/**
 * The topic `grid`, and `/api/v1/overview`. In a delta, `runs` and `hosts` contain only those that have
 * changed.
 */
export type Grid = { 
/**
 * As `/api/v1/status`.
 */
status: Status, 
/**
 * The newest runs, and all unfinished ones; without the figures of each host.
 */
runs: Array<Run>, 
/**
 * The hosts in the grid.
 */
hosts: Array<Host>, 
/**
 * Ids of hosts that are gone.
 */
hosts_gone?: Array<string>, 
/**
 * Runs that are no longer listed.
 */
runs_gone?: Array<number>, 
/**
 * Problems that need attention. Always all of them.
 */
alerts: Array<Alert>, 
/**
 * Maximum finished runs that are kept: the newest.
 */
runs_kept: number, 
/**
 * Time for which finished runs are kept; null for ever.
 */
runs_kept_s: number | null, };
