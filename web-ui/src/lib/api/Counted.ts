// Made from the types of the API; see api/src.
/**
 * Whether a run's numbers are all.
 */
export type Counted = "so_far" | "final" | "partial";
