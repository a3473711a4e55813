// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * A job below another.
 */
export type ChildJob = { 
/**
 * The beginning of its key.
 */
job: string, 
/**
 * Its name.
 */
function: string, 
/**
 * As of a [`Node`].
 */
state: string, 
/**
 * Processor time, descendants included, once it is done.
 */
work_s: number | null, };
