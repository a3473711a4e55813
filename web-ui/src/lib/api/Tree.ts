// Made from the coordinator's types; see coordinator/src/api/types.
import type { Node } from "./Node";

/**
 * `/api/v1/runs/{run}/tree`.
 */
export type Tree = { 
/**
 * Jobs that had an instance of their own: in the order in which they became known, until there is no room
 * for more; from then on, new ones take the places of some that have ended.
 */
nodes: Array<Node>, 
/**
 * How many jobs it does not show.
 */
left_out: number, };
