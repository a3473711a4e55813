/** What the coordinator says, as JSON. */

export interface Jobs {
  spawned: number;
  exposed: number;
  executed: number;
  stolen_local: number;
  stolen: number;
  stolen_wide: number;
  reused: number;
  redone: number;
  adopted: number;
  recorded: number;
  aborted: number;
}

export type RunState = 'queued' | 'running' | 'suspending' | 'suspended' | 'done' | 'failed' | 'cancelled';

export interface AppOfRun {
  hash: string;
  name: string;
}

export interface Progress {
  done: number;
  total: number;
}

export interface RunFailure {
  kind: string;
  message: string;
  job: string | null;
  backtrace: string[];
}

export interface HostOfRun {
  host: string;
  name: string;
  site: string;
  there: boolean;
  jobs: Jobs;
  work_s: number;
  busy: number;
  workers: number;
}

export interface Run {
  run: number;
  app: AppOfRun;
  function: string;
  arguments: string[];
  state: RunState;
  waiting_for: string | null;
  submitted_at: string;
  started_at: string | null;
  ended_at: string | null;
  elapsed_s: number;
  hosts: number;
  threads: number;
  jobs: Jobs;
  steals: { requests: number };
  work_s: number;
  answer_work_s: number | null;
  lost_work_s: number | null;
  saved_work_s: number;
  span_s: number | null;
  progress: Progress | null;
  error: RunFailure | null;
  root_host: string | null;
  root_losses: number;
  table: { entries: number; bytes: number };
  by_host: HostOfRun[];
  inputs?: { [name: string]: string };
}

export interface Host {
  id: string;
  name: string;
  site: string;
  threads: number;
  version: string;
  connected: boolean;
  paused: string | null;
  since: string;
  runs: number[];
  jobs: Jobs;
  busy: number;
  speed?: number | null;
  steals_in?: number | null;
  steals_out?: number | null;
  rtt_ms?: number | null;
  why_idle?: string | null;
}

export interface Status {
  grid: string;
  version: string;
  uptime_s: number;
  hosts: number;
  threads: number;
  runs: { [state: string]: number };
  links: number;
  messages_in: number;
  relayed_frames: number;
  relayed_bytes: number;
  misbehaviours: number;
  trouble: string | null;
  jobs_per_s?: number | null;
  redone_share?: number | null;
  busy?: number | null;
}

export interface Alert {
  level: 'info' | 'warn' | 'error';
  text: string;
  since: string;
  run?: number | null;
  host?: string | null;
}

export interface GridValue {
  status: Status;
  runs: Run[];
  hosts: Host[];
  hosts_gone?: string[];
  runs_gone?: number[];
  alerts: Alert[];
}

export interface RunEvent {
  number: number;
  t_ms: number;
  kind: string;
  host?: string | null;
  job?: string | null;
  text: string;
}

export interface DepthCount {
  depth: number;
  running: number;
  done: number;
  other: number;
}

export interface Step {
  job: string;
  function: string;
  work_s: number | null;
  host: string;
  begun_ms?: number | null;
  ended_ms?: number | null;
}

export interface Series {
  t_ms: number[];
  busy: number[];
  workers: number[];
  jobs_per_s: number[];
  redone_per_s: number[];
}

export interface RunValue {
  run: Run;
  depths: DepthCount[];
  remaining: { low_s: number; likely_s: number; high_s: number } | null;
  remaining_why: string | null;
  parallelism: number | null;
  critical_path: Step[];
  series: Series;
  events: RunEvent[];
  kinds: string[];
}

export interface TimelineRow {
  host: string;
  host_name: string;
  site: string;
  worker: number;
  /** Shares of each bucket; null where the worker was not there. */
  work: (number | null)[];
  recover: (number | null)[];
  steal: (number | null)[];
  wait: (number | null)[];
}

export interface IdleSpan {
  from_ms: number;
  /** Null while it lasts. */
  to_ms: number | null;
  /** Null if it holds for all hosts. */
  host: string | null;
  text: string;
}

export interface TimelineValue {
  bucket_ms: number;
  from_ms: number;
  rows: TimelineRow[];
  idle_why: IdleSpan[];
}

export interface App {
  hash: string;
  name: string;
  bytes: number;
  published_at: string;
  determinism: string;
  entry_points: string[];
  jobs: string[];
  abi?: number | null;
  limits?: string[];
  published_by?: string | null;
  arguments?: string | null;
}

export interface JobChild {
  job: string;
  function: string;
  state: string;
  work_s: number | null;
}

/** One job of a run. */
export interface JobDetail {
  job: string;
  function: string;
  is_root: boolean;
  depth: number;
  parameters: string | null;
  parameters_text?: string | null;
  parameters_why?: string | null;
  host: string;
  host_name: string;
  state: string;
  redone: boolean;
  begun_ms: number | null;
  ended_ms: number | null;
  work_s: number | null;
  parent: string | null;
  children: JobChild[];
  children_left_out: number;
  replay: string | null;
}

export interface LogLine {
  number: number;
  host: string;
  job: string;
  text: string;
}

export interface Log {
  lines: LogLine[];
  dropped: number;
}

/** Why a request was refused: RFC 9457. */
export interface Problem {
  title: string;
  detail: string;
  status: number;
}

/** What stands beside a tree's records. */
export interface TreeTables {
  hosts: { id: string; name: string; site: string }[];
  kinds: string[];
  shown: number;
  total: number;
  left_out: number;
  entry_point: string;
}
