// Made from the types of the API; see api/src.
import type { IdleWhy } from "./IdleWhy";
import type { TimelineRow } from "./TimelineRow";

/**
 * `/api/v1/runs/{run}/timeline`, and the topic `timeline/N`.
 */
export type Timeline = { 
/**
 * The length of an interval.
 */
bucket_ms: number, 
/**
 * When the first interval begins, in milliseconds since the run was submitted.
 */
from_ms: number, 
/**
 * Workers.
 */
rows: Array<TimelineRow>, 
/**
 * Why nothing was done.
 */
idle_why: Array<IdleWhy>, };
