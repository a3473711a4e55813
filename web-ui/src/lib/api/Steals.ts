// Made from the types of the API; see api/src.
/**
 * Steals between hosts.
 */
export type Steals = { 
/**
 * Requests for jobs that hosts sent one another, including those without success.
 */
requests: number, };
