// Made from the coordinator's types; see coordinator/src/api/types.
import type { HoldUpKind } from "./HoldUpKind";

/**
 * What keeps a run from being faster.
 */
export type HoldUp = { 
/**
 * `nothing`, `waiting`, `starved`, `sharing`, `recovery`, `straggler`, `parameters` or `parallelism`.
 */
kind: HoldUpKind, 
/**
 * In a sentence, with the figures behind it.
 */
text: string, };
