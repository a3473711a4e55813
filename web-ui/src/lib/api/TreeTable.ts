// Made from the types of the API; see api/src.
import type { TreeHost } from "./TreeHost";

/**
 * The data before the records in a frame of the topic `tree/N`.
 */
export type TreeTable = { 
/**
 * Hosts, by the numbers in records; absent if they have not changed.
 */
hosts?: Array<TreeHost>, 
/**
 * Names of jobs by kind; absent if they have not changed.
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
 * What is not shown, as far as is known.
 */
left_out: number, 
/**
 * The root's name.
 */
entry_point: string, };
