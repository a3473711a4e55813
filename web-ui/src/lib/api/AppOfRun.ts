// Made from the coordinator's types; see coordinator/src/api/types.
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
