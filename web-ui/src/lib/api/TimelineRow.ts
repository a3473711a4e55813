// Made from the types of the API; see api/src.
/**
 * A worker's activities in each interval: shares from 0 to 1. They are null while the worker does not take part: its host
 * is not in the grid or paused, the run is suspended, or the host has not reported yet. What is missing up to 1 is the time
 * in which the worker was idle or busy with other runs.
 */
export type TimelineRow = { 
/**
 * Its host's id.
 */
host: string, 
/**
 * Its host's name; with its id if an earlier process of the run had the same name.
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
 * It looked for work for this run. A run has a worker of its own for each thread of a host, and meanwhile that of another
 * run may have computed in its place.
 */
steal: Array<number | null>, 
/**
 * Jobs of its host waited for results, and there was no other work.
 */
wait: Array<number | null>, };
