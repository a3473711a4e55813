// Made from the coordinator's types; see coordinator/src/api/types.
import type { Alert } from "./Alert";
import type { Host } from "./Host";
import type { Run } from "./Run";
import type { Status } from "./Status";

/**
 * The topic `grid`, and `/api/v1/overview`. In a delta, `runs` and `hosts` are those that have changed.
 */
export type Grid = { 
/**
 * As `/api/v1/status`.
 */
status: Status, 
/**
 * The newest, and all that are not over; without what each host did.
 */
runs: Array<Run>, 
/**
 * Those that are there.
 */
hosts: Array<Host>, 
/**
 * Ids of hosts that are there no more.
 */
hosts_gone?: Array<string>, 
/**
 * Runs that are listed no more.
 */
runs_gone?: Array<number>, 
/**
 * What somebody should look at. Always all.
 */
alerts: Array<Alert>, };
