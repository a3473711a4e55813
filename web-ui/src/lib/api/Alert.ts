// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * Something that somebody should look at.
 */
export type Alert = { 
/**
 * `info`, `warn` or `error`.
 */
level: string, 
/**
 * In a sentence.
 */
text: string, 
/**
 * Since when.
 */
since: string, 
/**
 * Of which run.
 */
run: number | null, 
/**
 * Of which host.
 */
host: string | null, };
