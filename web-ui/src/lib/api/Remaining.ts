// Made from the types of the API; see api/src.
/**
 * How long a run may still take: a band, and what is likely within it. Past bands of nine moments in ten held.
 */
export type Remaining = { 
/**
 * At least so long, in seconds.
 */
low_s: number, 
/**
 * At the mean pace so far.
 */
likely_s: number, 
/**
 * At most.
 */
high_s: number, };
