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
 * Its name; with its id if an earlier process of the run had the same name.
 */
name: string, 
/**
 * Its site.
 */
site: string, };
