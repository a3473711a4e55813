// Made from the types of the API; see api/src.
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
 * The limits of guests.
 */
limits: SubmittedLimits, 
/**
 * How idle hosts choose victims.
 */
stealing: string, 
/**
 * Which work survives a crash.
 */
fault_tolerance: string, 
/**
 * How often finished work is recorded.
 */
record_every_ms: number | null, 
/**
 * Whether the engine makes NaNs canonical.
 */
strict_nan: boolean, 
/**
 * Whether results of hosts are believed (`trust`, the default) or checked: with `quorum=N`, N owners of hosts must agree on
 * each; N is from 2 to 5. With `audit=P`, a share P of the work of each host is drawn and computed again by another owner; P is
 * above 0 and up to 1.
 */
trust?: string, 
/**
 * Which runs of one submitter get more of the grid: `low`, `normal` (the default) or `high`, each four times as much as the
 * one before. Runs of other submitters get what they are due anyway.
 */
priority?: string, 
/**
 * Whether to use results of the submitter's earlier runs of the same app, and to keep those of this run for later ones. Only
 * if hosts are believed.
 */
reuse?: boolean, };
