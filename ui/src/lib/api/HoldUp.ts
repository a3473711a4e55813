// Made from the coordinator's types; see coordinator/src/api/types.
import type { HoldUpKind } from "./HoldUpKind";

/**
 * What keeps a run from being faster.
 */
export type HoldUp = { 
/**
 * What it is.
 */
kind: HoldUpKind, 
/**
 * In a sentence, with the figures behind it.
 */
text: string, };
