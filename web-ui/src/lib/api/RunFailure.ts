// Made from the types of the API; see api/src.
/**
 * Why a run has no result.
 */
export type RunFailure = { 
/**
 * `job`: a job panicked or trapped; `app`: the app returned an error; `input`: the app refused its arguments or
 * inputs; `limit`: a limit was exceeded; `unable`: no host could run it; `unverified`: hosts do not agree on a result;
 * `cancelled`: it was cancelled.
 */
kind: string, 
/**
 * In a sentence.
 */
message: string, 
/**
 * The job that failed.
 */
job: string | null, 
/**
 * The guest's stack, innermost frame first.
 */
backtrace: Array<string>, };
