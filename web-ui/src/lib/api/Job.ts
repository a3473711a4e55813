// Made from the types of the API; see api/src.
import type { AppOfRun } from "./AppOfRun";
import type { RunLimits } from "./RunLimits";

/**
 * `/api/v1/jobs/{key}`: everything needed to run one job again.
 */
export type Job = { 
/**
 * The beginning of its key.
 */
job: string, 
/**
 * Its name; for the root, the name of the run's entry point.
 */
function: string, 
/**
 * Whether it is its run's root, whose parameters are the run's arguments.
 */
is_root: boolean, 
/**
 * Spawns below the root.
 */
depth: number, 
/**
 * Its encoded parameters, as hexadecimal digits; none for the root.
 */
parameters: string | null, 
/**
 * The newest run that it is part of.
 */
run: number, 
/**
 * That run's app.
 */
app: AppOfRun, 
/**
 * That run's entry point.
 */
entry_point: string, 
/**
 * The words of that run's command line.
 */
arguments: Array<string>, 
/**
 * Hashes of that run's inputs, by name.
 */
inputs: { [key in string]: string }, 
/**
 * The limits of that run's guests.
 */
limits: RunLimits, 
/**
 * Whether the engine makes NaNs canonical.
 */
strict_nan: boolean, };
