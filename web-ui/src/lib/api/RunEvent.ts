// Made from the coordinator's types; see coordinator/src/api/types.
import type { EventKind } from "./EventKind";

/**
 * What happened to a run.
 */
export type RunEvent = { 
/**
 * Counts from 1.
 */
number: number, 
/**
 * Milliseconds since the run was submitted.
 */
t_ms: number, 
/**
 * What.
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
