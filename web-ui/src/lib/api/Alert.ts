// Made from the types of the API; see api/src.
/**
 * A problem that needs attention.
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
 * The run that it is about.
 */
run: number | null, 
/**
 * Of which host.
 */
host: string | null, };
