// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * Kinds of events.
 */
export type EventKind = "Submitted" | "Started" | "HostJoined" | "HostLeft" | "HostLost" | "Adopted" | "Reused" | "RootLost" | "Unable" | "Suspended" | "Resumed" | "CoordinatorRestarted" | "Ended";
