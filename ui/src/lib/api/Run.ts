// Made from the coordinator's types; see coordinator/src/api/types.
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
 * From its start to its end, or till now.
 */
elapsed_s: number, 
/**
 * How long it has waited for its start; absent once it has started or is over.
 */
queued_s?: number, 
/**
 * Hashes of its inputs, by name; absent in lists.
 */
inputs?: { [key in string]: string }, 
/**
 * What keeps it from being faster, or kept it; absent in lists, and where too little is known.
 */
held_up_by?: HoldUp, 
/**
 * Whether these numbers are all.
 */
counted: Counted, 
/**
 * Hosts that worked on it.
 */
hosts: number, 
/**
 * Their workers.
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
 * Processor time in guests, of all hosts. What a host did in the last half second or so before a crash
 * is not known.
 */
work_s: number, 
/**
 * For how long workers computed, together, in seconds of the clock: `work_s` of it is what they got of the
 * processors. The rest had other programs of their machines.
 */
computed_s: number, 
/**
 * Of `work_s`, what is behind the result: each job once. Known once it is over.
 */
answer_work_s: number | null, 
/**
 * Of `work_s`, what nobody used: lost with a host, done twice, or of jobs that were aborted. Known once it
 * is over.
 */
lost_work_s: number | null, 
/**
 * Of `work_s`, what had been done before: work of jobs that were begun again because their host crashed or left, or
 * the run rested, until they were where they had been, as far as hosts can tell.
 */
redone_work_s: number, 
/**
 * What was behind reused and adopted results: without them it would have been lost, too.
 */
saved_work_s: number, 
/**
 * The critical path, once it is over.
 */
span_s: number | null, 
/**
 * What the root job reports.
 */
progress: Progress | null, 
/**
 * Why it has no result.
 */
error: RunFailure | null, 
/**
 * Who has the root job.
 */
root_host: string | null, 
/**
 * How often the root was lost with its host.
 */
root_losses: number, 
/**
 * Its result table on the coordinator.
 */
table: TableSize, 
/**
 * Each host that worked on it.
 */
by_host: Array<HostOfRun>, };
