// Made from the coordinator's types; see coordinator/src/api/types.
import type { SubmittedLimits } from "./SubmittedLimits";

/**
 * `POST /api/v1/runs`.
 */
export type Submission = { 
/**
 * A module's hash, the beginning of one, or a name.
 */
app: string, 
/**
 * The entry point; `main` if not given.
 */
function: string | null, 
/**
 * The words of the command line.
 */
arguments: Array<string>, 
/**
 * Hashes of uploaded blobs, by name.
 */
inputs: { [key in string]: string }, 
/**
 * What guests may use.
 */
limits: SubmittedLimits, 
/**
 * How idle hosts choose victims.
 */
stealing: string, 
/**
 * What survives a crash.
 */
fault_tolerance: string, 
/**
 * Finished work is recorded so often.
 */
record_every_ms: number | null, 
/**
 * NaNs are canonicalised by the engine.
 */
strict_nan: boolean, };
