// Made from the types of the API; see api/src.
/**
 * How long a run may still take: a range, and the likely time within it. Nine of ten ranges contain the actual time.
 */
export type Remaining = { 
/**
 * The least time, in seconds.
 */
low_s: number, 
/**
 * The time at the mean pace so far.
 */
likely_s: number, 
/**
 * The most time.
 */
high_s: number, };
