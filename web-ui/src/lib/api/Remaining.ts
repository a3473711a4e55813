// Made from the types of the API; see api/src.
/**
 * How long a run may still take: a range, and the likely time within it. Nine of ten ranges contain the actual time.
 */
export type Remaining = { 
/**
 * `progress` if it is estimated from the progress that the app reports, `jobs` if it is that of the jobs spawned so far, from what
 * hosts expect of them.
 */
basis: string, 
/**
 * The least time, in seconds.
 */
low_s: number, 
/**
 * The likely time, at the pace so far.
 */
likely_s: number, 
/**
 * The most time.
 */
high_s: number, };
