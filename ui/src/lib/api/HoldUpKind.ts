// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * Kinds of what holds a run up.
 */
export type HoldUpKind = "nothing" | "waiting" | "starved" | "recovery" | "straggler" | "parameters" | "parallelism";
