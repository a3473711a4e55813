// Made from the types of the API; see api/src.
/**
 * Why nothing was done for a while.
 */
export type IdleWhy = { 
/**
 * Milliseconds since the run was submitted.
 */
from_ms: number, 
/**
 * The end, in the same unit; none while it lasts.
 */
to_ms: number | null, 
/**
 * The host, if only one host did nothing.
 */
host: string | null, 
/**
 * In a sentence.
 */
text: string, };
