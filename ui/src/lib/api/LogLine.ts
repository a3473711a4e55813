// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * A line of an app's log.
 */
export type LogLine = { 
/**
 * Counts from 1.
 */
number: number, 
/**
 * Where it was written.
 */
host: string, 
/**
 * By which job.
 */
job: string, 
/**
 * The line.
 */
text: string, };
