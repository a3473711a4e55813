// Made from the types of the API; see api/src.
/**
 * How long a run may still take: a range, as wide as earlier predictions for the run were wrong, and the likely time within it.
 */
export type Remaining = { 
/**
 * `progress` if it is estimated from the progress that the app reports. `jobs` if it is estimated from the jobs spawned so far: the
 * root may still spawn others.
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
