// Made from the coordinator's types; see coordinator/src/api/types.
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
