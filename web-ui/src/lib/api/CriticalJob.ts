// Made from the types of the API; see api/src.
/**
 * A job of the critical path.
 */
export type CriticalJob = { 
/**
 * The beginning of its key.
 */
job: string, 
/**
 * Its name.
 */
function: string, 
/**
 * Processor time, including its descendants, once it is done.
 */
work_s: number | null, 
/**
 * The name of its host; with its id if an earlier process of the run had the same name.
 */
host: string, 
/**
 * When it began, in milliseconds since the run was submitted.
 */
begun_ms: number, 
/**
 * When it ended.
 */
ended_ms: number | null, };
