// Made from the types of the API; see api/src.
/**
 * Answers a submission.
 */
export type Submitted = { 
/**
 * The run's number.
 */
run: number, };
