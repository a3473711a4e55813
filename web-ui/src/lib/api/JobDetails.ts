// Made from the types of the API; see api/src.
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
 * Its name; for the root, the name of the run's entry point.
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
 * The parameters for people: the run's arguments for the root; for other jobs, a call as Rust would write it, if
 * the module describes the encoding, or the text if they are text.
 */
parameters_text: string | null, 
/**
 * Why they are not known.
 */
parameters_why: string | null, 
/**
 * The host that has it, or had it last.
 */
host: string, 
/**
 * That host's name; with its id if an earlier process of the run had the same name.
 */
host_name: string, 
/**
 * The number of the host's worker that took it.
 */
worker: number | null, 
/**
 * `running`, `done`, `failed`, `aborted`, `lost`, `given back`, `reused` or `adopted`. A lost job was lost with its host. A job is
 * given back when its host leaves or pauses, or its run is suspended. Neither is at a host any more.
 */
state: string, 
/**
 * Whether it was lost with a host, and begun again.
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
 * Processor time, including its descendants, once it is done.
 */
work_s: number | null, 
/**
 * The job above it.
 */
parent: string | null, 
/**
 * Jobs below it that have an instance of their own, the longest first.
 */
children: Array<ChildJob>, 
/**
 * The number of further such jobs.
 */
children_left_out: number, 
/**
 * The command that runs it again.
 */
replay: string | null, };
