// Made from the types of the API; see api/src.
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
 * When it was published.
 */
published_at: string, 
/**
 * The name that the publisher chose, which is not checked; none if there is none.
 */
published_by: string | null, 
/**
 * The publisher's address; none for apps that an older version accepted.
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
 * The version of the ABI for which it is made.
 */
abi: number, 
/**
 * The memory limits of its module, in words. All other limits are those of the run or of its hosts.
 */
limits: Array<string>, 
/**
 * The parameters of its entry point `main`, or of its only one; none if the module does not describe them.
 */
arguments: string | null, };
