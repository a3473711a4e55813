// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * What a worker did, by stretches: shares of each from 0 to 1, or null where it was not there.
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
 * Its number there.
 */
worker: number, 
/**
 * It computed.
 */
work: Array<number | null>, 
/**
 * It computed what had been lost.
 */
recover: Array<number | null>, 
/**
 * It looked for work.
 */
steal: Array<number | null>, 
/**
 * Jobs of its host waited for results, and there was nothing else to do.
 */
wait: Array<number | null>, };
