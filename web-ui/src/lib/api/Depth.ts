// Made from the types of the API; see api/src.
/**
 * Jobs of one depth.
 */
export type Depth = { 
/**
 * Spawns below the root. If there are very many depths, the last one includes those below it.
 */
depth: number, 
/**
 * Jobs that run.
 */
running: number, 
/**
 * Jobs with a result.
 */
done: number, 
/**
 * Jobs that failed, were aborted or are lost.
 */
other: number, };
