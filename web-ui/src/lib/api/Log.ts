// Made from the coordinator's types; see coordinator/src/api/types.
import type { LogLine } from "./LogLine";

/**
 * `/api/v1/runs/{run}/log`.
 */
export type Log = { 
/**
 * The newest that are kept, in order.
 */
lines: Array<LogLine>, 
/**
 * Lines after the asked one that are not kept any more.
 */
dropped: number, };
