// Made from the types of the API; see api/src.
/**
 * Whether a run's numbers are complete.
 */
export type Counted = "so_far" | "final" | "partial";
