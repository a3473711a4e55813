// Made from the types of the API; see api/src.
/**
 * Reasons that hold a run up.
 */
export type HoldUpKind = "nothing" | "waiting" | "starved" | "sharing" | "recovery" | "straggler" | "parameters" | "parallelism";
