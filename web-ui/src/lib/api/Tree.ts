// Made from the types of the API; see api/src.
import type { Node } from "./Node";

/**
 * `/api/v1/runs/{run}/tree`.
 */
export type Tree = { 
/**
 * Jobs that had an instance of their own, in the order in which they became known, until there is no room
 * for more; from then on, new jobs replace some that have ended.
 */
nodes: Array<Node>, 
/**
 * The number of jobs that it does not show.
 */
left_out: number, };
