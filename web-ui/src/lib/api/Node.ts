// Made from the coordinator's types; see coordinator/src/api/types.
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
 * The same with its parameters as Rust would write them, cut where they are long; if they are known, and the module
 * says how they are encoded.
 */
call: string | null, 
/**
 * Spawns below the root.
 */
depth: number, 
/**
 * Where it is, or was last.
 */
host: string, 
/**
 * That host's name.
 */
host_name: string, 
/**
 * `running`, `done`, `failed`, `aborted`, `lost`, `reused` or `adopted`.
 */
state: string, 
/**
 * It was lost with a host, and begun again.
 */
redone: boolean, 
/**
 * Processor time, descendants included, once it is done.
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
 * Which of the host's workers took it.
 */
worker: number | null, 
/**
 * Jobs below it that the tree does not show: it had no room for them, or they have made room for others.
 */
rolled: number, };
