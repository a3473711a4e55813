import { beforeEach, describe, expect, it } from 'vitest';

import { frame, grow } from '../e2e/synthetic/tree.ts';
import { Feed, type Listener, type Socket } from '../src/lib/feed/feed.ts';
import { moment } from '../src/lib/format.ts';
import { mergeGrid, mergeRun, mergeTimeline } from '../src/lib/feed/merge.ts';
import type { GridValue, Problem, RunValue, TimelineValue } from '../src/lib/types.ts';

class FakeSocket implements Socket {
  binaryType: BinaryType = 'blob';
  sent: { watch: string[]; again?: string[] }[] = [];
  onopen: Socket['onopen'] = null;
  onmessage: Socket['onmessage'] = null;
  onclose: Socket['onclose'] = null;
  send(text: string): void {
    this.sent.push(JSON.parse(text) as { watch: string[] });
  }
  close(): void {
    this.onclose?.({} as CloseEvent);
  }
  say(message: unknown): void {
    const data = message instanceof ArrayBuffer ? message : typeof message === 'string' ? message : JSON.stringify(message);
    this.onmessage?.({ data } as MessageEvent);
  }
}

let sockets: FakeSocket[];
let timers: { at: number; what: () => void }[];
let now: number;
let feed: Feed;
let heard: string[];
let told: string[];

const settled = () => new Promise<void>((done) => setTimeout(done, 0));

function pass(ms: number): void {
  const until = now + ms;
  for (;;) {
    const due = timers.filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at)[0];
    if (!due) break;
    timers.splice(timers.indexOf(due), 1);
    now = due.at;
    due.what();
  }
  now = until;
}

function listener(name: string): Listener {
  return {
    value: (value, whole) => heard.push(`${name} ${whole ? 'whole' : 'delta'} ${JSON.stringify(value)}`),
    frame: (frame) => heard.push(`${name} ${frame.kind} ${frame.seq}`),
    gone: (problem: Problem) => heard.push(`${name} gone: ${problem.detail}`),
  };
}

beforeEach(() => {
  sockets = [];
  timers = [];
  now = 0;
  heard = [];
  told = [];
  feed = new Feed({
    open: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
    now: () => now,
    after: (ms, what) => timers.push({ at: now + ms, what }),
  });
  feed.ontrouble = (text) => told.push(text);
  feed.start();
});

const open = (at = 0) => sockets[at].onopen?.({} as Event);

describe('the feed', () => {
  it('asks once for all topics, and hands on a snapshot and its deltas', async () => {
    feed.watch('grid', listener('grid'));
    feed.watch('run/1', listener('run'));
    await settled();
    open();
    expect(sockets[0].sent).toEqual([{ watch: ['grid', 'run/1'] }]);
    sockets[0].say({ topic: 'grid', seq: 0, kind: 'snapshot', value: 1 });
    sockets[0].say({ topic: 'grid', seq: 1, kind: 'delta', value: 2 });
    expect(heard).toEqual(['grid whole 1', 'grid delta 2']);
  });

  it('shows times within sentences in local time, and leaves all else as it is', async () => {
    feed.watch('grid', listener('grid'));
    await settled();
    open();
    const at = '2020-03-04T18:09:41Z';
    const runs = [{ waiting_for: `ann says: until ${at}`, submitted_at: at, arguments: [at], held_up_by: { text: `${at}, ${at}` }, error: { message: at } }];
    sockets[0].say({ topic: 'grid', seq: 0, kind: 'snapshot', value: { runs, hosts: [{ paused: `until ${at}`, name: at }] } });
    const shown = moment(at);
    expect(shown).not.toBe(at);
    const expected = [{ ...runs[0], waiting_for: `ann says: until ${shown}`, held_up_by: { text: `${shown}, ${shown}` } }];
    expect(heard).toEqual([`grid whole ${JSON.stringify({ runs: expected, hosts: [{ paused: `until ${shown}`, name: at }] })}`]);
  });

  it('asks again for a topic with a gap, and takes nothing of it till then', async () => {
    feed.watch('grid', listener('grid'));
    await settled();
    open();
    const socket = sockets[0];
    socket.say({ topic: 'grid', seq: 0, kind: 'snapshot', value: 'a' });
    socket.say({ topic: 'grid', seq: 2, kind: 'delta', value: 'lost one' });
    socket.say({ topic: 'grid', seq: 3, kind: 'delta', value: 'too early' });
    await settled();
    expect(socket.sent.at(-1)).toEqual({ watch: ['grid'], again: ['grid'] });
    socket.say({ topic: 'grid', seq: 0, kind: 'snapshot', value: 'b' });
    socket.say({ topic: 'grid', seq: 1, kind: 'delta', value: 'c' });
    expect(heard).toEqual(['grid whole "a"', 'grid whole "b"', 'grid delta "c"']);
  });

  it('does not take deltas in another order, nor twice', async () => {
    feed.watch('grid', listener('grid'));
    await settled();
    open();
    for (const seq of [0, 1, 1]) sockets[0].say({ topic: 'grid', seq, kind: seq === 0 ? 'snapshot' : 'delta', value: seq });
    await settled();
    expect(heard).toEqual(['grid whole 0', 'grid delta 1']);
    expect(sockets[0].sent.at(-1)?.again).toEqual(['grid']);
  });

  it('takes the parts of a tree as one snapshot', async () => {
    feed.watch('tree/7', listener('tree'));
    await settled();
    open();
    const tree = grow(4, 1, 0);
    sockets[0].say(frame(7, 0, 0, {}, tree, [0, 1]));
    sockets[0].say(frame(7, 1, 1, {}, tree, [2, 3]));
    sockets[0].say(frame(7, 2, 2, {}, tree, [3]));
    sockets[0].say(frame(8, 1, 0, {}, tree, [0]));
    sockets[0].say(frame(7, 2, 9, {}, tree, [3]));
    await settled();
    expect(heard).toEqual(['tree part 0', 'tree last 1', 'tree delta 2']);
    expect(sockets[0].sent.at(-1)).toEqual({ watch: ['tree/7'], again: ['tree/7'] });
  });

  it('says what is wrong with what it cannot read, and continues', async () => {
    feed.watch('grid', listener('grid'));
    await settled();
    open();
    const socket = sockets[0];
    socket.say('{');
    socket.say(new ArrayBuffer(5));
    socket.say('null');
    socket.say('[]');
    socket.say({ topic: 'nobody/9', seq: 0, kind: 'snapshot' });
    socket.say({ topic: null, problem: { title: 'Bad', detail: 'nine topics are too many', status: 400 } });
    expect(told.length).toBe(3);
    expect(told[2]).toBe('nine topics are too many');
    socket.say({ topic: 'grid', seq: 0, kind: 'snapshot', value: 1 });
    expect(heard).toEqual(['grid whole 1']);
  });

  it('reports what is gone', async () => {
    feed.watch('run/9', listener('run'));
    await settled();
    open();
    sockets[0].say({ topic: 'run/9', kind: 'gone', problem: { title: 'Not Found', detail: 'run 9 is not known', status: 404 } });
    sockets[0].say({ topic: 'run/9', seq: 1, kind: 'delta', value: 1 });
    sockets[0].say({ topic: 'run/9', kind: 'gone' });
    expect(heard[0]).toBe('run gone: run 9 is not known');
    expect(heard.length).toBe(2);
  });

  it('connects again, later each time, and then asks for all', async () => {
    const states: string[] = [];
    feed.onconnection = (state) => states.push(state);
    feed.watch('grid', listener('grid'));
    await settled();
    open();
    sockets[0].say({ topic: 'grid', seq: 0, kind: 'snapshot', value: 1 });
    sockets[0].close();
    expect(states).toEqual(['open', 'lost']);
    pass(250);
    expect(sockets.length).toBe(2);
    sockets[1].close();
    pass(250);
    expect(sockets.length).toBe(2);
    pass(250);
    expect(sockets.length).toBe(3);
    for (let once = 0; once < 10; once += 1) {
      sockets.at(-1)?.close();
      pass(5000);
    }
    expect(sockets.length).toBe(13);
    open(12);
    expect(sockets[12].sent).toEqual([{ watch: ['grid'] }]);
    sockets[12].say({ topic: 'grid', seq: 5, kind: 'delta', value: 'of before' });
    sockets[12].say({ topic: 'grid', seq: 0, kind: 'snapshot', value: 2 });
    expect(heard).toEqual(['grid whole 1', 'grid whole 2']);
    sockets[0].say({ topic: 'grid', seq: 1, kind: 'delta', value: 'from the dead' });
    expect(heard.length).toBe(2);
  });

  it('gives a socket up that has said that it lives and then falls silent', async () => {
    feed.watch('grid', listener('grid'));
    await settled();
    open();
    sockets[0].say({ kind: 'alive' });
    pass(20_000);
    sockets[0].say({ kind: 'alive' });
    pass(25_000);
    expect(sockets.length).toBe(1);
    pass(15_250);
    expect(sockets.length).toBe(2);
  });

  it('does not loop when every snapshot is followed by a gap', async () => {
    feed.watch('grid', listener('grid'));
    await settled();
    open();
    for (let once = 0; once < 6; once += 1) {
      sockets[0].say({ topic: 'grid', seq: 0, kind: 'snapshot', value: 1 });
      sockets[0].say({ topic: 'grid', seq: 7, kind: 'delta', value: 2 });
      await settled();
    }
    expect(sockets[0].sent.filter((message) => message.again).length).toBe(5);
    pass(300);
    expect(sockets.length).toBe(2);
  });

  it('watches anew for a listener that does, and ends with it', async () => {
    const first = feed.watch('run/1', listener('first'));
    await settled();
    open();
    sockets[0].say({ topic: 'run/1', seq: 0, kind: 'snapshot', value: 1 });
    feed.watch('run/1', listener('second'));
    first();
    await settled();
    expect(sockets[0].sent.at(-1)).toEqual({ watch: ['run/1'], again: ['run/1'] });
    sockets[0].say({ topic: 'run/1', seq: 0, kind: 'snapshot', value: 2 });
    expect(heard).toEqual(['first whole 1', 'second whole 2']);
  });
});

describe('deltas', () => {
  const run = (number: number, state = 'running') => ({ run: number, state }) as unknown as GridValue['runs'][0];
  const host = (id: string, site = 'a') => ({ id, site, name: id }) as GridValue['hosts'][0];

  it('of the grid change what they name, and take out what is gone', () => {
    const status = { hosts: 1 } as GridValue['status'];
    let grid = mergeGrid(null, { status, runs: [run(1), run(3)], hosts: [host('b'), host('a')], alerts: [], runs_kept: 9, runs_kept_s: null }, true);
    expect(grid.runs.map((run) => run.run)).toEqual([3, 1]);
    grid = mergeGrid(grid, { runs: [run(1, 'done'), run(4)], hosts: [host('c')], hosts_gone: ['b'], runs_gone: [3] } as unknown as GridValue, false);
    expect(grid.runs.map((run) => `${run.run} ${run.state}`)).toEqual(['4 running', '1 done']);
    expect(grid.hosts.map((host) => host.id)).toEqual(['a', 'c']);
    expect(grid.status).toBe(status);
    const before = grid.hosts;
    grid = mergeGrid(grid, { runs: [run(1)] } as unknown as GridValue, false);
    expect(grid.hosts).toEqual(before);
  });

  it('of a run change its parts', () => {
    const old = { run: run(1), events: [1], kinds: ['f'] } as unknown as RunValue;
    expect(mergeRun(old, { events: [2] } as unknown as RunValue, false)).toEqual({ ...old, events: [2] });
    expect(mergeRun(old, { events: [2] } as unknown as RunValue, true)).toEqual({ events: [2] });
  });

  it('of a timeline replace its newest part', () => {
    const row = (worker: number, work: (number | null)[]) => ({ host: 'h', host_name: 'h', site: 's', worker, work, steal: work, wait: work });
    const old: TimelineValue = { bucket_ms: 250, from_ms: 0, rows: [row(0, [1, 1, 0.5]), row(1, [1])], idle_why: [] };
    const delta: TimelineValue = { bucket_ms: 250, from_ms: 500, rows: [row(0, [0.9, 1]), row(2, [1])], idle_why: [] };
    const now = mergeTimeline(old, delta, false);
    expect(now.rows.map((row) => row.work)).toEqual([[1, 1, 0.9, 1], [1], [null, null, 1]]);
    expect(mergeTimeline(old, { ...delta, bucket_ms: 500 }, false).bucket_ms).toBe(500);
  });
});
