// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * Kinds of events.
 */
export type EventKind = "submitted" | "started" | "host_joined" | "host_left" | "host_lost" | "jobs_interrupted" | "adopted" | "reused" | "root_lost" | "unable" | "suspended" | "resumed" | "coordinator_restarted" | "ended";
