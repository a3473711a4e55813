/** Changes of a topic, applied to what is there. */

import type { GridValue, RunValue, TimelineRow, TimelineValue } from '../types.ts';

/** Whole lists again, in the order of `key`: of runs, newest first; of hosts, by name. */
export function mergeGrid(old: GridValue | null, value: GridValue, whole: boolean): GridValue {
  if (whole || !old) return { ...value, runs: sortRuns(value.runs ?? []), hosts: sortHosts(value.hosts ?? []) };
  const runsGone = new Set(value.runs_gone ?? []);
  const hostsGone = new Set(value.hosts_gone ?? []);
  return {
    status: value.status ?? old.status,
    alerts: value.alerts ?? old.alerts,
    runs_kept: value.runs_kept ?? old.runs_kept,
    // Null for ever.
    runs_kept_s: value.runs_kept_s === undefined ? old.runs_kept_s : value.runs_kept_s,
    runs: sortRuns(merged(old.runs, value.runs ?? [], (run) => run.run, runsGone)),
    hosts: sortHosts(merged(old.hosts, value.hosts ?? [], (host) => host.id, hostsGone)),
  };
}

function merged<T, K>(old: T[], changed: T[], key: (item: T) => K, gone: Set<K>): T[] {
  if (changed.length === 0 && gone.size === 0) return old;
  const byKey = new Map(old.map((item) => [key(item), item]));
  for (const item of changed) byKey.set(key(item), item);
  for (const item of gone) byKey.delete(item);
  return [...byKey.values()];
}

function sortRuns(runs: GridValue['runs']): GridValue['runs'] {
  return runs.toSorted((a, b) => b.run - a.run);
}

function sortHosts(hosts: GridValue['hosts']): GridValue['hosts'] {
  return hosts.toSorted((a, b) => compare(a.site, b.site) || compare(a.name, b.name) || compare(a.id, b.id));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A delta holds only what has changed, each part of it whole. */
export function mergeRun(old: RunValue | null, value: Partial<RunValue>, whole: boolean): RunValue {
  return whole || !old ? (value as RunValue) : { ...old, ...value };
}

/** The arrays of a delta replace what is there from its `from_ms` on. */
export function mergeTimeline(old: TimelineValue | null, value: TimelineValue, whole: boolean): TimelineValue {
  if (whole || !old || value.bucket_ms !== old.bucket_ms) return value;
  const keep = Math.max(0, Math.round((value.from_ms - old.from_ms) / old.bucket_ms));
  const name = (row: TimelineRow) => `${row.host}/${row.worker}`;
  const changed = new Map(value.rows.map((row) => [name(row), row]));
  const joined = (before: (number | null)[], after: (number | null)[]) => {
    const kept = before.slice(0, keep);
    while (kept.length < keep) kept.push(null);
    return kept.concat(after);
  };
  const rows = old.rows.map((row) => {
    const change = changed.get(name(row));
    if (!change) return row;
    changed.delete(name(row));
    return {
      ...change,
      work: joined(row.work, change.work),
      steal: joined(row.steal, change.steal),
      wait: joined(row.wait, change.wait),
    };
  });
  for (const row of changed.values()) {
    rows.push({
      ...row,
      work: joined([], row.work),
      steal: joined([], row.steal),
      wait: joined([], row.wait),
    });
  }
  return { ...old, rows, idle_why: value.idle_why };
}
