// Made from the coordinator's types; see coordinator/src/api/types.
import type { AppOfRun } from "./AppOfRun";
import type { Figures } from "./Figures";

/**
 * A run.
 */
export type Run = { 
/**
 * Its number.
 */
run: number, 
/**
 * Its app.
 */
app: AppOfRun, 
/**
 * Its entry point.
 */
function: string, 
/**
 * The words of its command line.
 */
arguments: Array<string>, 
/**
 * `queued`, `running`, `suspending`, `suspended`, `done`, `failed` or `cancelled`.
 */
state: string, 
/**
 * Why nothing happens, if nothing does.
 */
waiting_for: string | null, 
/**
 * When it was submitted.
 */
submitted_at: string, 
/**
 * When a host first began it.
 */
started_at: string | null, 
/**
 * When it was over.
 */
ended_at: string | null, 
/**
 * From its start to its end, or till now.
 */
elapsed_s: number, 
/**
 * Hashes of its inputs, by name; absent in lists.
 */
inputs?: { [key in string]: string }, 
/**
 * The rest.
 */
figures: Figures, };
