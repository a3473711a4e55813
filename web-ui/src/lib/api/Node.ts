// Made from the types of the API; see api/src.
/**
 * A job of a tree.
 */
export type Node = { 
/**
 * The beginning of its key.
 */
job: string, 
/**
 * The job above it.
 */
parent: string | null, 
/**
 * Its name.
 */
function: string, 
/**
 * Its name with its parameters as Rust would write them, shortened if they are long; if they are known and the
 * module describes their encoding.
 */
call: string | null, 
/**
 * Spawns below the root.
 */
depth: number, 
/**
 * The host that has it, or had it last.
 */
host: string, 
/**
 * That host's name; with its id if an earlier process of the run had the same name.
 */
host_name: string, 
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
 * Processor time, including its descendants, once it is done.
 */
work_s: number | null, 
/**
 * When it began, in milliseconds since the run was submitted.
 */
begun_ms: number, 
/**
 * When it ended.
 */
ended_ms: number | null, 
/**
 * The number of the host's worker that took it.
 */
worker: number | null, 
/**
 * The number of jobs below it that the tree does not show, because it had no room for them or they have
 * made room for others.
 */
rolled: number, };
