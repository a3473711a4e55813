// Made from the types of the API; see api/src.
/**
 * A host that gave a wrong result.
 */
export type BarredHost = { 
/**
 * Its id.
 */
host: string, 
/**
 * Its key: other hosts with this key are barred as well.
 */
key: string, };
