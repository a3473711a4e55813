// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * Steals between hosts.
 */
export type Steals = { 
/**
 * Requests for jobs that hosts sent one another, those that gave none as well.
 */
requests: number, };
