// Made from the types of the API; see api/src.
/**
 * The progress that the root job reports.
 */
export type Progress = { 
/**
 * How much is done.
 */
done: number, 
/**
 * The total; 0 if it is not known.
 */
total: number, };
