// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * What is not said is the host's default.
 */
export type RunLimits = { 
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
 * The replicas of the run's shared objects at one host, together.
 */
shared_bytes: number | null, 
/**
 * How long a job's guard may be false, in milliseconds.
 */
guard_wait_ms: number | null, 
/**
 * For how long the run may be under way, in milliseconds: its root job is at a host.
 */
time_ms: number | null, 
/**
 * Processor time of its jobs at all hosts together, in milliseconds.
 */
cpu_ms: number | null, };
