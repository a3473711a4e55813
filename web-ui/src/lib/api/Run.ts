// Made from the types of the API; see api/src.
import type { AppOfRun } from "./AppOfRun";
import type { Counted } from "./Counted";
import type { HoldUp } from "./HoldUp";
import type { HostOfRun } from "./HostOfRun";
import type { JobCounts } from "./JobCounts";
import type { Progress } from "./Progress";
import type { RunFailure } from "./RunFailure";
import type { Steals } from "./Steals";
import type { TableSize } from "./TableSize";

/**
 * A run.
 */
export type Run = { 
/**
 * Its number.
 */
run: number, 
/**
 * Its app.
 */
app: AppOfRun, 
/**
 * Its entry point.
 */
function: string, 
/**
 * The words of its command line.
 */
arguments: Array<string>, 
/**
 * `queued`, `running`, `suspending`, `suspended`, `done`, `failed` or `cancelled`.
 */
state: string, 
/**
 * Why nothing happens, if nothing does.
 */
waiting_for: string | null, 
/**
 * When it was submitted.
 */
submitted_at: string, 
/**
 * When a host first began it.
 */
started_at: string | null, 
/**
 * When it was over.
 */
ended_at: string | null, 
/**
 * From its start to its end, or until now, in seconds. The time for which it was suspended is included; a `--time-limit`
 * does not count that.
 */
elapsed_s: number, 
/**
 * How long it has waited for its start, in seconds; absent once it has started or is over.
 */
queued_s?: number, 
/**
 * Hashes of its inputs, by name; absent in lists.
 */
inputs?: { [key in string]: string }, 
/**
 * What keeps the run from being faster, or kept it; absent in lists, and where too little is known.
 */
held_up_by?: HoldUp, 
/**
 * Whether these numbers are all. `so_far`: hosts still count, until a moment after the end. `final`: all hosts that were
 * there at the end have reported their last counts. `partial`: not all have, and what was done in the last second or so
 * may be missing.
 */
counted: Counted, 
/**
 * Hosts that have computed something of it, each host process once: one that found nothing to do does not count, and one
 * that was started again counts as another.
 */
hosts: number, 
/**
 * Workers of these hosts, of those that are gone as well.
 */
threads: number, 
/**
 * What became of its jobs.
 */
jobs: JobCounts, 
/**
 * Steals between hosts.
 */
steals: Steals, 
/**
 * Processor time in guests, of all hosts, in seconds. What a host did in the last half second or so before a crash is not
 * known.
 */
work_s: number, 
/**
 * For how long workers computed, together, in seconds of the clock: `work_s` of it is what they got of their processors.
 * The rest had other programs of their machines.
 */
computed_s: number, 
/**
 * Of `work_s`, what is behind the result, each job once; null until the run is over. Where results were used again so often
 * that more is behind the answer than was ever computed, this and `lost_work_s` are null.
 */
answer_work_s: number | null, 
/**
 * Of `work_s`, what nobody used: lost with a host, done twice, or of jobs that were aborted; of a run without a result, all.
 * Null until the run is over.
 */
lost_work_s: number | null, 
/**
 * Of `work_s`, what had been done before: work between results that are found again where a host crashed, left, paused,
 * suspended the run or could not go on with it, and behind the last of them for an interval of recording if it crashed,
 * since nobody knows how far it was.
 */
redone_work_s: number, 
/**
 * Processor time behind results that were reused or adopted, in seconds, counted each time that one was: without them it
 * would have been computed again.
 */
saved_work_s: number, 
/**
 * The longest chain of jobs that ran separately, in seconds. It depends on the number of workers and bounds nothing. Null
 * until the run is over, and where `answer_work_s` is.
 */
span_s: number | null, 
/**
 * What the root job reports; null if nothing.
 */
progress: Progress | null, 
/**
 * Why there is no result; null if there is one, or may be.
 */
error: RunFailure | null, 
/**
 * The id of the host that has the root job, or had it at the end.
 */
root_host: string | null, 
/**
 * How often the root job was lost with its host, which `jobs.lost` leaves out.
 */
root_losses: number, 
/**
 * Its result table on the coordinator.
 */
table: TableSize, 
/**
 * Each host that took part, also of one that found nothing to do; of very many that are gone, the first to go are one.
 */
by_host: Array<HostOfRun>, };
