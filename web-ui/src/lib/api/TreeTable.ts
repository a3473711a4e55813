// Made from the coordinator's types; see coordinator/src/api/types.
import type { TreeHost } from "./TreeHost";

/**
 * What stands before the records in a frame of the topic `tree/N`.
 */
export type TreeTable = { 
/**
 * Hosts, by the numbers that records have; absent if they are as before.
 */
hosts?: Array<TreeHost>, 
/**
 * Names of jobs by kind; absent if they are as before.
 */
kinds?: Array<string>, 
/**
 * Jobs that the tree keeps.
 */
shown: number, 
/**
 * Jobs that were begun in instances of their own.
 */
total: number, 
/**
 * What is not shown, as far as that is known.
 */
left_out: number, 
/**
 * The root's name.
 */
entry_point: string, };
