// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * Jobs of one depth.
 */
export type Depth = { 
/**
 * Spawns below the root. The last one stands for those below it, too, when there are very many.
 */
depth: number, 
/**
 * They run.
 */
running: number, 
/**
 * They have a result.
 */
done: number, 
/**
 * They failed, were aborted or are lost.
 */
other: number, };
