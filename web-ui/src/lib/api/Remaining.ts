// Made from the coordinator's types; see coordinator/src/api/types.
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
