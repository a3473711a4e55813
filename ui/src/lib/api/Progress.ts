// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * What the root job reports.
 */
export type Progress = { 
/**
 * So much is done.
 */
done: number, 
/**
 * Of so much.
 */
total: number, };
