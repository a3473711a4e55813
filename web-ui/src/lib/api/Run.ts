// Made from the types of the API; see api/src.
import type { AppOfRun } from "./AppOfRun";
import type { Checked } from "./Checked";
import type { Counted } from "./Counted";
import type { EarlierResults } from "./EarlierResults";
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
 * Why nothing happens, if nothing does, or why nothing is known of it, after a restart of the coordinator; null for runs
 * that are over.
 */
waiting_for: string | null, 
/**
 * When it was submitted.
 */
submitted_at: string, 
/**
 * When a host first got its root job. It begins that at once, unless its workers compute for other runs: then
 * `waiting_for` says so.
 */
started_at: string | null, 
/**
 * When it ended.
 */
ended_at: string | null, 
/**
 * Time from its start to its end, or until now, in seconds. This includes the time for which it was suspended; a
 * `--time-limit` does not. Null if it was over before its start.
 */
elapsed_s: number | null, 
/**
 * How long it has waited for its start, in seconds; absent once it has started or is over.
 */
queued_s?: number, 
/**
 * Hashes of its inputs, by name; absent in lists.
 */
inputs?: { [key in string]: string }, 
/**
 * What keeps the run, or kept it, from being faster; absent in lists, and if too little is known.
 */
held_up_by?: HoldUp, 
/**
 * The name of the token with which the run was submitted. Null if there was none, or if it is no longer kept.
 */
submitter: string | null, 
/**
 * Whether results of hosts are believed (`trust`) or checked (`quorum=N`, or `audit=P`).
 */
trust: string, 
/**
 * `low`, `normal` or `high`: which runs of one submitter get more.
 */
priority: string, 
/**
 * Whether it uses results of its submitter's earlier runs, and its own are kept for later ones.
 */
reuse: boolean, 
/**
 * The part of the workers of each host that the run is due while all runs that are given to hosts have work enough, above 0 and
 * up to 1: a part of what its submitter is due by weight, by the priorities of the submitter's runs. What runs do not use,
 * others get. Null unless it is `running`.
 */
share: number | null, 
/**
 * Whether these numbers are complete. `so_far`: hosts still count, until a moment after the end. `final`: all hosts
 * that took part have reported their last counts. `partial`: not all have. Of a host that was given up and was not
 * back by the end, what it counted in about the last half second is missing. Of one that did not come back after a
 * restart of the coordinator, what it counted since its counts were saved is missing: that of about a second before
 * the coordinator stopped, and all until the host stopped. Then what is shown after the restart may be less than
 * before.
 */
counted: Counted, 
/**
 * Hosts that have computed part of it, each host process once: a host that found no work does not count, and one
 * that was restarted counts as another.
 */
hosts: number, 
/**
 * Workers of these hosts, including those that are gone.
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
 * Processor time in guests, of all hosts, in seconds. The work of a host in about the last half second before a
 * crash is not known.
 */
work_s: number, 
/**
 * Wall-clock time for which workers computed, summed over all workers, in seconds. For `work_s` of it they had a
 * processor; for the rest, other programs of their machines had it.
 */
computed_s: number, 
/**
 * The part of `work_s` that led to the result, each job once; null until the run is over, and without a result. If results were reused
 * so often that the result stands for more work than was ever computed, or leaves no room for work that was done
 * again, this and `lost_work_s` are null. So are they if a host did not come back after a restart of the coordinator:
 * what it did in its last moments may be missing in `work_s`; and if jobs were lost in a run that used results of earlier
 * runs.
 */
answer_work_s: number | null, 
/**
 * The part of `work_s` that was not used: work lost with a host, done twice, or of aborted jobs; for a run without
 * a result, all of it. Null until the run is over.
 */
lost_work_s: number | null, 
/**
 * The longest chain of jobs that ran separately, in seconds. It depends on the number of workers and is not a
 * bound. Null until the run is over, if `answer_work_s` is null, and if the run used results of earlier runs.
 */
span_s: number | null, 
/**
 * The progress that the root job reports; null if none. Of a run that is done, all of it.
 */
progress: Progress | null, 
/**
 * Why there is no result; null if there is one, or may be one later.
 */
error: RunFailure | null, 
/**
 * The id of the host that has the root job, or had it at the end.
 */
root_host: string | null, 
/**
 * How often the root job was lost with its host, which `jobs.lost` leaves out. A loss before the host could
 * begin the job cannot be distinguished, and counts too.
 */
root_losses: number, 
/**
 * Its result table on the coordinator.
 */
table: TableSize, 
/**
 * How its results are checked, or were; null if hosts are trusted, and of a run that has not ended and is not given to hosts.
 */
checked: Checked | null, 
/**
 * Results of earlier runs that it used; null of a run without `reuse`.
 */
earlier: EarlierResults | null, 
/**
 * Each host that took part, including hosts that found no work. If very many are gone, the first of these are
 * combined into one.
 */
by_host: Array<HostOfRun>, };
