// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * Whether a run's numbers are all.
 */
export type Counted = "so_far" | "final" | "partial";
