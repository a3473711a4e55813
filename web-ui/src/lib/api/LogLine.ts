// Made from the types of the API; see api/src.
/**
 * A line of an app's log.
 */
export type LogLine = { 
/**
 * Counts from 1.
 */
number: number, 
/**
 * The host on which it was written.
 */
host: string, 
/**
 * The name of the job that wrote it.
 */
job: string, 
/**
 * The beginning of that job's key, as in the run's tree; none if its host did not report it.
 */
tag: string | null, 
/**
 * The text of the line.
 */
text: string, };
