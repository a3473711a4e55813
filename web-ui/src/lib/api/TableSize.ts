// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * A result table.
 */
export type TableSize = { 
/**
 * Its entries.
 */
entries: number, 
/**
 * Their size.
 */
bytes: number, };
