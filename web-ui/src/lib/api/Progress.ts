// Made from the coordinator's types; see coordinator/src/api/types.
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
