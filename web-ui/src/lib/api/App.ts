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
 * Who did that, as they call themselves; none if they do not. Nobody has checked it.
 */
published_by: string | null, 
/**
 * The address that they did it from; none of apps that an older version took in.
 */
published_from: string | null, 
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
 * What its module says of its memory, in words. All else is limited by the run, or by its hosts.
 */
limits: Array<string>, 
/**
 * What its entry point `main`, or its only one, takes; none if the module does not tell.
 */
arguments: string | null, };
