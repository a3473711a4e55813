// Made from the types of the API; see api/src.
/**
 * A host of a tree.
 */
export type TreeHost = { 
/**
 * Its id.
 */
id: string, 
/**
 * Its name.
 */
name: string, 
/**
 * Its site.
 */
site: string, };
