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
 * The name of the job that wrote it.
 */
job: string, 
/**
 * The beginning of that job's key, by which the run's tree has it; none if its host did not tell.
 */
tag: string | null, 
/**
 * The line.
 */
text: string, };
