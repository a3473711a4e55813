// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * Steals between hosts.
 */
export type Steals = { 
/**
 * Requests sent.
 */
requests: number, };
