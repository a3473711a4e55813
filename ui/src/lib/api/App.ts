// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * A published module.
 */
export type App = { 
/**
 * blake3 of its bytes.
 */
hash: string, 
/**
 * The name that it was published under.
 */
name: string, 
/**
 * Its size.
 */
bytes: number, 
/**
 * When.
 */
published_at: string, 
/**
 * `integer` or `float`.
 */
determinism: string, 
/**
 * Names of its entry points.
 */
entry_points: Array<string>, 
/**
 * Names of its jobs.
 */
jobs: Array<string>, 
/**
 * The version of the ABI that it is made for.
 */
abi: number, 
/**
 * Limits that it asks for, in words.
 */
limits: Array<string>, 
/**
 * Who published it, if that is known.
 */
published_by: string | null, 
/**
 * The arguments that its entry point takes, if the module tells.
 */
arguments: string | null, };
