/** Runs, hosts and figures that were never there, for pages to show. */

import { isOver as isRunOver, type Alert, type App, type Host, type Jobs, type Run, type RunEvent, type RunState, type RunValue, type TimelineValue } from '../../src/lib/types.ts';
import { dice, KINDS, tag } from './tree.ts';

export const SITES = ['amsterdam', 'delft', 'leiden', 'utrecht'];
const NOW = Date.now();
export const ago = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();
const hash = (seed: number) => Array.from({ length: 4 }, (_, at) => tag(seed, seed * 9 + at)).join('');

export function jobs(executed: number): Jobs {
  return {
    spawned: executed * 1800,
    exposed: executed * 3,
    executed,
    stolen_local: Math.floor(executed / 2),
    stolen: Math.floor(executed / 5),
    stolen_wide: Math.floor(executed / 40),
    reused: Math.floor(executed / 90),
    given_back: 0,
    lost: Math.floor(executed / 60),
    redone: Math.floor(executed / 70),
    adopted: Math.floor(executed / 300),
    recorded: Math.floor(executed / 2),
    aborted: 0,
  };
}

export function hosts(count: number): Host[] {
  const random = dice(3);
  return Array.from({ length: count }, (_, at) => {
    const threads = [2, 4, 8, 16][Math.floor(random() * 4)];
    const isPaused = random() < 0.06;
    const isIdle = random() < 0.08;
    return {
      id: `h${(at + 1) * 7919}`,
      name: `${['ada', 'bob', 'cyd', 'dee', 'eve', 'fay', 'gus', 'hal'][at % 8]}${at < 8 ? '' : Math.floor(at / 8) + 1}`,
      site: SITES[Math.floor(random() * SITES.length)],
      threads,
      version: random() < 0.9 ? '0.1.0' : '0.0.9',
      connected: random() > 0.02,
      paused: isPaused ? ['on battery', 'its owner works on it', 'paused by hand for 30 min'][at % 3] : null,
      since: ago(3000 + random() * 90_000),
      runs: [1, 6],
      jobs: jobs(Math.floor(random() * 4000)),
      state: isPaused ? 'paused' : isIdle ? 'idle' : 'working',
      busy: isPaused || isIdle ? 0 : Math.max(1, Math.floor(threads * (0.6 + 0.4 * random()))),
      speed: at % 5 === 4 ? null : 0.5 + random() * 1.2,
      steals_in: Math.floor(random() * 900),
      steals_out: Math.floor(random() * 900),
      rtt_ms: 0.4 + random() * 40,
      why_idle: isIdle ? 'no victim has anything to give: the tree is at its end' : null,
    };
  }).map((host) => (host.connected ? host : { ...host, state: 'away', busy: null }));
}

export const APPS: App[] = ['nqueens', 'knapsack', 'raytracer', 'sat', 'othello'].map((name, at) => ({
  hash: hash(at + 40),
  name,
  bytes: 61_000 + at * 17_345,
  published_at: ago(86_400 * (at + 1)),
  published_by: at === 2 ? null : ['ada', 'grace', '', 'edsger <b>&'][at % 4],
  published_from: at === 4 ? null : '192.0.2.7',
  determinism: at % 2 === 0 ? 'integer' : 'float',
  entry_points: at === 3 ? ['main', 'count', 'check'] : ['main'],
  jobs: KINDS.slice(0, 2 + (at % 3)),
  abi: 1,
  limits: at === 1 ? ['256 MiB of memory an instance', '4 MiB a result'] : [],
  arguments: at === 0 ? 'N' : null,
}));

const STATES: RunState[] = ['running', 'done', 'queued', 'failed', 'suspended', 'running', 'cancelled'];
const ARGUMENTS = ['17', '--items 40 --capacity 21000', 'scene.txt 1920 1080', 'uf250.cnf', '12', '20', '8'];

/** By the number of the run. */
const HELD_UP_BY: { [run: number]: Run['held_up_by'] } = {
  1: { kind: 'straggler', text: 'A straggler holds it up: for the last 9.2 s only 1 of 40 workers has computed; the job place 00c5e30f5a04e9d4 has run for 24.1 s on dee.' },
  2: { kind: 'nothing', text: 'Nothing slowed it down: 36.2 of 40 workers computed on average; more hosts would have made it faster.' },
  3: { kind: 'waiting', text: 'It has waited for 3 min of 3 min so far: no host has joined that has 4 GiB of memory for it.' },
};

/** Runs 1 to 7, of one state each. */
export function run(number: number, seconds: number, executed: number): Run {
  const state = STATES[number - 1] ?? 'done';
  const isOver = isRunOver({ state });
  const elapsed = state === 'queued' ? 0 : isOver ? 184.2 : 61 + seconds;
  return {
    run: number,
    app: { hash: APPS[(number - 1) % APPS.length].hash, name: APPS[(number - 1) % APPS.length].name },
    function: 'main',
    arguments: ARGUMENTS[(number - 1) % ARGUMENTS.length].split(' '),
    state,
    waiting_for:
      state === 'queued'
        ? 'no host has joined that has 4 GiB of memory for it'
        : state === 'suspended'
          ? 'somebody resumes it: sateen resume 5'
          : null,
    submitted_at: ago(200 + number * 1000),
    started_at: state === 'queued' ? null : ago(198 + number * 1000),
    ended_at: isOver ? ago(20 + number * 1000) : null,
    elapsed_s: elapsed,
    counted: isOver ? 'final' : 'so_far',
    hosts: state === 'queued' ? 0 : 6,
    threads: state === 'queued' ? 0 : 40,
    jobs: jobs(state === 'queued' ? 0 : executed),
    steals: { requests: executed * 2 },
    work_s: elapsed * 33.1,
    answer_work_s: isOver ? elapsed * 32 : null,
    lost_work_s: isOver ? 4.2 : null,
    computed_s: elapsed * 40,
    span_s: isOver ? 3.9 : null,
    progress: number === 6 ? null : state === 'queued' ? { done: 0, total: 289 } : { done: Math.min(289, 97 + Math.floor(seconds)), total: 289 },
    error:
      state === 'failed'
        ? {
            kind: 'job',
            message: 'the job `combine_the_boards` panicked at src/lib.rs:41: index out of bounds: the len is 8 but the index is 9',
            job: tag(4, 11),
            backtrace: ['core::panicking::panic_bounds_check', 'sat::combine_the_boards', 'sateen::wasm::run', '__sateen_job'],
          }
        : null,
    root_host: 'h7919',
    root_losses: number === 1 ? 1 : 0,
    table: { entries: 812, bytes: 61_442 },
    submitter: number % 2 === 0 ? 'ada' : null,
    priority: number === 1 ? 'high' : number === 3 ? 'low' : 'normal',
    reuse: number === 6,
    earlier: number === 6 ? { jobs: 999, work_s: 49.9 } : null,
    // Of two runs of one submitter.
    share: state !== 'running' ? null : number === 1 ? 0.8 : 0.2,
    trust: number === 2 ? 'quorum=2' : 'trust',
    checked:
      number === 2
        ? { is_checking: false, units: 40, units_checked: 40, work_share: 1, checks: 41, work_s: 61.5, barred: [{ host: 'h7919', key: hash(7) }], without_standing: null, caught: [] }
        : null,
    by_host:
      state === 'queued'
        ? []
        : hosts(6).map((host, at) => ({
            host: host.id,
            name: host.name,
            site: host.site,
            there: at !== 3,
            away: false,
            jobs: jobs(Math.floor(executed / (at + 2))),
            work_s: (elapsed * 20) / (at + 1),
            computed_s: (elapsed * 24) / (at + 1),
            busy: isOver ? 0 : host.busy,
            workers: host.threads,
            updates: 0,
            shared_bytes: 0,
          })),
    inputs: number === 4 ? { cnf: hash(99) } : {},
    held_up_by: HELD_UP_BY[number],
  };
}

export function events(seconds: number): RunEvent[] {
  const told: [RunEvent['kind'], number, string][] = [
    ['submitted', 0, 'submitted'],
    ['started', 210, 'ada has begun the root job'],
    ['host_joined', 900, 'bob of amsterdam joined with 8 workers'],
    ['host_joined', 1100, 'dee of delft joined with 16 workers'],
    ['host_lost', 30_400, 'dee of delft was lost: 31 jobs are redone'],
    ['adopted', 30_900, '4 orphans that still ran were adopted'],
    ['reused', 31_000, '57 recorded results were reused'],
    ['host_left', 44_000, 'fay of leiden left and gave back 2 jobs'],
    ['root_lost', 48_000, 'the root was lost with ada; bob has it now'],
  ];
  for (let at = 0; at < seconds / 20; at += 1) told.push(['host_joined', 61_000 + at * 20_000, `gus${at} of utrecht joined with 4 workers`]);
  return told.map(([kind, t_ms, text], at) => ({ number: at + 1, t_ms, kind, text, host: null, job: kind === 'adopted' ? tag(1, 7) : null }));
}

export function runValue(number: number, seconds: number, executed: number): RunValue {
  const about = run(number, seconds, executed);
  const isOver = isRunOver(about);
  const points = about.state === 'queued' ? 0 : Math.min(600, Math.floor((about.elapsed_s ?? 0) * 4));
  const step = ((about.elapsed_s ?? 0) * 1000) / Math.max(1, points);
  const random = dice(number);
  const at = Array.from({ length: points }, (_, point) => point);
  const workers = at.map((point) => (point < points * 0.1 ? 8 : point < points * 0.5 ? 40 : point < points * 0.54 ? 24 : 40));
  return {
    run: about,
    depths: about.state === 'queued' ? [] : Array.from({ length: 19 }, (_, depth) => {
      const all = Math.round(2000 * Math.exp(-((depth - 9) ** 2) / 14)) + 1;
      const running = isOver ? 0 : Math.round(all * 0.06);
      return { depth, running, done: all - running - (depth % 5), other: depth % 5 };
    }),
    remaining: isOver || about.state !== 'running' || number === 6 ? null : { basis: 'progress', low_s: 70, likely_s: 104, high_s: 171 },
    remaining_why: isOver ? null : about.state === 'running' ? 'too few jobs of the upper levels have ended to say' : `the run is ${about.state}`,
    mean_busy: about.state === 'queued' ? null : isOver ? 41.2 : 33.1,
    critical_path: about.state === 'queued' ? [] : Array.from({ length: 9 }, (_, depth) => ({
      job: tag(number, depth),
      function: depth === 0 ? 'main' : KINDS[depth % 4],
      work_s: (about.work_s * 0.8 ** depth) / 2,
      host: hosts(6)[depth % 6].name,
      begun_ms: depth * 10,
      ended_ms: null,
    })),
    series: {
      t_ms: at.map((point) => Math.round(point * step)),
      workers,
      busy: workers.map((count) => Math.max(1, Math.round(count * (0.85 + 0.15 * random())))),
      jobs_per_s: at.map((point) => Math.round(900 + 250 * Math.sin(point / 17) + 200 * random())),
      redone_per_s: at.map((point) => (Math.abs(point - points * 0.53) < 9 ? Math.round(90 * random()) : 0)),
    },
    events: about.state === 'queued' ? events(0).slice(0, 1) : events(isOver ? 0 : seconds),
    kinds: KINDS,
    is_kept: number !== 7,
  };
}

export function timeline(buckets: number, workers: number): TimelineValue {
  const random = dice(11);
  const members = hosts(Math.ceil(workers / 4));
  const rows = Array.from({ length: workers }, (_, at) => {
    const host = members[Math.floor(at / 4)];
    const joins = at % 8 === 7 ? Math.floor(buckets * 0.3) : 0;
    const leaves = host.name === 'dee' ? Math.floor(buckets * 0.5) : buckets;
    const work: (number | null)[] = [];
    const steal: (number | null)[] = [];
    const wait: (number | null)[] = [];
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      if (bucket < joins || bucket >= leaves) {
        for (const list of [work, steal, wait]) list.push(null);
        continue;
      }
      const starving = bucket > buckets * 0.9 ? 0.5 * random() : 0.06 * random();
      const waiting = 0.08 * random();
      steal.push(starving);
      wait.push(waiting);
      work.push(Math.max(0, 1 - starving * 1.6 - waiting - 0.03));
    }
    return { host: host.id, host_name: host.name, site: host.site, worker: at % 4, work, steal, wait };
  });
  return {
    bucket_ms: 250,
    from_ms: 0,
    rows,
    idle_why: [
      { from_ms: buckets * 225, to_ms: buckets * 250, host: members[0].id, text: `${members[0].name} found no victim with anything to give: the tree is at its end` },
      { from_ms: buckets * 225, to_ms: buckets * 250, host: members[1].id, text: `${members[1].name} waits for parameters of 8 MiB from another site` },
    ],
  };
}

export const ALERTS: Alert[] = [
  { level: 'warn', text: 'run 3 has waited for 3 min: no host has joined that has 4 GiB of memory for it', since: ago(180), run: 3, host: null },
  { level: 'error', text: 'dee of delft was lost; 31 jobs of run 1 are redone', since: ago(31), run: 1, host: 'h31676' },
];
