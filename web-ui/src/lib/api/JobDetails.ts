// Made from the coordinator's types; see coordinator/src/api/types.
import type { ChildJob } from "./ChildJob";

/**
 * `/api/v1/runs/{run}/jobs/{job}`: one job of a run, for people.
 */
export type JobDetails = { 
/**
 * The beginning of its key.
 */
job: string, 
/**
 * Its name; of the root, that of the run's entry point.
 */
function: string, 
/**
 * Whether it is its run's root.
 */
is_root: boolean, 
/**
 * Spawns below the root.
 */
depth: number, 
/**
 * Its encoded parameters, as hexadecimal digits.
 */
parameters: string | null, 
/**
 * The same for people: the root's are the run's arguments; others' a call as Rust would write it, if the module says
 * how they are encoded, or what they are if they are text.
 */
parameters_text: string | null, 
/**
 * Why they are not known.
 */
parameters_why: string | null, 
/**
 * Where it is, or was last.
 */
host: string, 
/**
 * That host's name.
 */
host_name: string, 
/**
 * Which of the host's workers took it.
 */
worker: number | null, 
/**
 * `running`, `done`, `failed`, `aborted`, `lost`, `reused` or `adopted`.
 */
state: string, 
/**
 * It was lost with a host, and begun again.
 */
redone: boolean, 
/**
 * When it began, in milliseconds since the run was submitted.
 */
begun_ms: number, 
/**
 * When it ended.
 */
ended_ms: number | null, 
/**
 * Processor time, descendants included, once it is done.
 */
work_s: number | null, 
/**
 * The job above it.
 */
parent: string | null, 
/**
 * Jobs below it that have an instance of their own; those that took longest first.
 */
children: Array<ChildJob>, 
/**
 * How many more there are.
 */
children_left_out: number, 
/**
 * The command that runs it again.
 */
replay: string | null, };
