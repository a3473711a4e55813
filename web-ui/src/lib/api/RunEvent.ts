// Made from the types of the API; see api/src.
import type { EventKind } from "./EventKind";

/**
 * An event of a run.
 */
export type RunEvent = { 
/**
 * Counts from 1, in the order in which events became known, which is not always that of time. A later event of jobs at
 * the same host and within the same second is added to this one's text.
 */
number: number, 
/**
 * Milliseconds since the run was submitted.
 */
t_ms: number, 
/**
 * Its kind.
 */
kind: EventKind, 
/**
 * The host that it is about.
 */
host: string | null, 
/**
 * The job that it is about.
 */
job: string | null, 
/**
 * In a sentence.
 */
text: string, };
