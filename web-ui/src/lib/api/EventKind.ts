// Made from the types of the API; see api/src.
/**
 * Kinds of events.
 */
export type EventKind = "submitted" | "started" | "host_joined" | "host_left" | "host_paused" | "host_returned" | "host_resumed" | "host_lost" | "jobs_interrupted" | "adopted" | "reused" | "root_lost" | "unable" | "suspended" | "resumed" | "coordinator_restarted" | "ended";
