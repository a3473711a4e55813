// Made from the types of the API; see api/src.
import type { LogLine } from "./LogLine";

/**
 * `/api/v1/runs/{run}/log`.
 */
export type Log = { 
/**
 * The newest lines that are kept, in order.
 */
lines: Array<LogLine>, 
/**
 * The number of lines after the requested one that are not kept any more.
 */
dropped: number, };
