// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * Answers a submission.
 */
export type Submitted = { 
/**
 * The run's number.
 */
run: number, };
