// Made from the types of the API; see api/src.
/**
 * The app of a run.
 */
export type AppOfRun = { 
/**
 * blake3 of its bytes.
 */
hash: string, 
/**
 * Its name when the run was submitted.
 */
name: string, };
