// Made from the types of the API; see api/src.
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
