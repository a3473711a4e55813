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
 * When it was found: the first time that somebody asked for the alerts while it lasted.
 */
since: string, 
/**
 * The run that it is about.
 */
run: number | null, 
/**
 * The host that it is about.
 */
host: string | null, };
