// Made from the types of the API; see api/src.
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
 * Its state, as in a [`Node`].
 */
state: string, 
/**
 * Processor time, including its descendants, once it is done.
 */
work_s: number | null, };
