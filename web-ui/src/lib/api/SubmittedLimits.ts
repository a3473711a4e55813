// Made from the types of the API; see api/src.
/**
 * For limits that are not given, the host's default holds.
 */
export type SubmittedLimits = { 
/**
 * Linear memory of one instance.
 */
memory_bytes: number | null, 
/**
 * Stack of one instance.
 */
stack_bytes: number | null, 
/**
 * A result, a job's parameters, or an output.
 */
output_bytes: number | null, 
/**
 * All replicas of the run's shared objects on one host.
 */
shared_bytes: number | null, 
/**
 * How long a job's guard may be false, in milliseconds.
 */
guard_wait_ms: number | null, 
/**
 * How long the run may be under way, in milliseconds: the time during which a host has its root
 * job.
 */
time_ms: number | null, 
/**
 * Processor time of its jobs on all hosts together, in milliseconds.
 */
cpu_ms: number | null, };
