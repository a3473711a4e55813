// Made from the types of the API; see api/src.
/**
 * What the root job reports.
 */
export type Progress = { 
/**
 * How much is done.
 */
done: number, 
/**
 * Of how much; 0 if that is not known.
 */
total: number, };
