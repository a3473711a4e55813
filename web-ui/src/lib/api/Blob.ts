// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * `PUT /api/v1/blobs/{hash}`.
 */
export type Blob = { 
/**
 * blake3 of its bytes.
 */
hash: string, 
/**
 * Its size.
 */
bytes: number, };
