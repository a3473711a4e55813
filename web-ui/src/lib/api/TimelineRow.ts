// Made from the types of the API; see api/src.
/**
 * A worker's activities in each interval: shares from 0 to 1, or null if the host was not in the grid.
 */
export type TimelineRow = { 
/**
 * Its host's id.
 */
host: string, 
/**
 * Its host's name.
 */
host_name: string, 
/**
 * Its host's site.
 */
site: string, 
/**
 * Its number on the host.
 */
worker: number, 
/**
 * It computed.
 */
work: Array<number | null>, 
/**
 * It repeated lost work.
 */
recover: Array<number | null>, 
/**
 * It looked for work.
 */
steal: Array<number | null>, 
/**
 * Jobs of its host waited for results, and there was no other work.
 */
wait: Array<number | null>, };
