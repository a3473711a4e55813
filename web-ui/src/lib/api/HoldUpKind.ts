// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * Kinds of what holds a run up.
 */
export type HoldUpKind = "nothing" | "waiting" | "starved" | "sharing" | "recovery" | "straggler" | "parameters" | "parallelism";
