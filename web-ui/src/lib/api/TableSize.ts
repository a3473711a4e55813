// Made from the types of the API; see api/src.
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
