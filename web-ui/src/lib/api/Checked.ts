// Made from the types of the API; see api/src.
import type { BarredHost } from "./BarredHost";
import type { Caught } from "./Caught";

/**
 * How a run's results are checked. A unit is what one host computed between a steal and its result: a job, without the jobs
 * below it that other hosts computed.
 */
export type Checked = { 
/**
 * Whether the root job has a result, and that is being checked. The run is not over before.
 */
is_checking: boolean, 
/**
 * Units that hosts have reported; once they are being checked, those that the result was made of.
 */
units: number, 
/**
 * Of these, units on whose result enough owners agree. An audit believes the others.
 */
units_checked: number, 
/**
 * The share of the units' processor time, as hosts report it, that is in such units, from 0 to 1; null if there is none.
 */
work_share: number | null, 
/**
 * How often a unit was computed again.
 */
checks: number, 
/**
 * The processor time that this took so far, in seconds. It is not part of the run's `work_s`, and counts towards its
 * `--cpu-limit`.
 */
work_s: number, 
/**
 * Hosts that gave a wrong result, and take no part in checks of this run.
 */
barred: Array<BarredHost>, 
/**
 * For an audit, the owners of hosts that contributed, and of which fewer units had been verified before this run than an audit
 * always checks. Null otherwise, and until it is known.
 */
without_standing: number | null, 
/**
 * For an audit, how probable it is that a host which lied was found. Empty otherwise, and until it is known.
 */
caught: Array<Caught>, };
