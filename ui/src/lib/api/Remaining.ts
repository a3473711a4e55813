// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * How long a run may still take.
 */
export type Remaining = { 
/**
 * At the best pace so far.
 */
low_s: number, 
/**
 * In between.
 */
likely_s: number, 
/**
 * At the worst.
 */
high_s: number, };
