// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * Why nothing was done for a while.
 */
export type IdleWhy = { 
/**
 * Milliseconds since the run was submitted.
 */
from_ms: number, 
/**
 * The same; none while it lasts.
 */
to_ms: number | null, 
/**
 * The host, if it is one host that did nothing.
 */
host: string | null, 
/**
 * In a sentence.
 */
text: string, };
