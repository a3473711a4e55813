/** Serves the dashboard with a grid that was never there: for its looks, and for a tree of a million jobs. */

import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';

import { WebSocketServer, type WebSocket } from 'ws';

import { ALERTS, APPS, hosts, run, runValue, timeline } from './grid.ts';
import { frame, grow, KINDS, run as goesOn, placeOf, snapshot, tag, type Synthetic } from './tree.ts';

const TICK_MS = 250;
/** Records in each delta of the run of a million jobs. */
const CHANGES = 1000;
/** Of each series of this many jobs, the last one's parameters are not sent. */
const UNSENT = 16;
/** Jobs of the runs. */
const JOBS: { [run: number]: number } = { 1: 6000, 2: 5000, 3: 0, 4: 800, 5: 1500, 6: 1_000_000, 7: 40 };
const TYPES: { [extension: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface Options {
  port: number;
  /** Where the built pages are. */
  dist: string;
  /** How many hosts there are. */
  hosts?: number;
  /** Names that apps and hosts chose to do harm. */
  isHostile?: boolean;
}

interface Watched {
  seq: number;
  known: number;
}

export interface Served {
  url: string;
  /** Drops all websockets, as a coordinator that ends would. */
  drop(): void;
  close(): Promise<void>;
}

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';

export async function serve(options: Options): Promise<Served> {
  const begun = Date.now();
  const trees = new Map<number, Synthetic>();
  const all = hosts(options.hosts ?? 48);
  const named = <T>(value: T): T =>
    options.isHostile ? (JSON.parse(JSON.stringify(value).replaceAll('"nqueens"', JSON.stringify(HOSTILE)).replaceAll('"ada"', JSON.stringify(HOSTILE)).replaceAll(/"(queens_below|place)"/g, JSON.stringify(HOSTILE))) as T) : value;
  const seconds = () => (Date.now() - begun) / 1000;
  const treeOf = (number: number): Synthetic => {
    let tree = trees.get(number);
    if (!tree) {
      tree = grow(JOBS[number], 6, [1, 6].includes(number) ? 40 / Math.max(40, JOBS[number]) : 0, number);
      if (number === 1) for (let place = 0; place < 9; place += 1) goesOn(tree, place);
      trees.set(number, tree);
    }
    return tree;
  };
  const known = (number: number) => (number === 1 ? Math.min(JOBS[1], 700 + Math.floor(seconds() * 40)) : JOBS[number]);
  const tables = (number: number) =>
    named({
      hosts: all.slice(0, 6).map(({ id, name, site }) => ({ id, name, site })),
      kinds: KINDS,
      shown: known(number),
      total: known(number) + (number === 6 ? 34_567 : 0),
      left_out: number === 6 ? 34_567 : 0,
      entry_point: 'main',
    });
  const grid = () =>
    named({
      status: {
        grid: '7b1c09e4d2a85f36',
        version: '0.1.0',
        uptime_s: 86_400 + seconds(),
        hosts: all.length,
        threads: all.reduce((sum, host) => sum + host.threads, 0),
        runs: { running: 2, done: 1, queued: 1, failed: 1, suspended: 1, cancelled: 1 },
        links: all.length,
        messages_in: 1,
        relayed_frames: 1,
        relayed_bytes: 1,
        misbehaviours: 0,
        trouble: null,
        jobs_per_s: 1043.2,
      },
      runs: Object.keys(JOBS).map((number) => ({ ...run(Number(number), seconds(), known(Number(number))), by_host: [] })),
      hosts: all,
      alerts: ALERTS,
    });

  const server = createServer((request, response) => answer(request, response));
  const sockets = new WebSocketServer({ server, path: '/ws/watch' });
  sockets.on('connection', (socket) => watch(socket));

  function watch(socket: WebSocket): void {
    const topics = new Map<string, Watched>();
    const send = (topic: string, watched: Watched, kind: string, value: unknown) => {
      socket.send(JSON.stringify({ topic, seq: watched.seq++, kind, value }));
    };
    socket.on('message', (data) => {
      const { watch: wanted, again = [] } = JSON.parse(String(data)) as { watch: string[]; again?: string[] };
      for (const topic of topics.keys()) if (!wanted.includes(topic) || again.includes(topic)) topics.delete(topic);
      for (const topic of wanted) {
        if (topics.has(topic)) continue;
        const [what, number] = [topic.split('/')[0], Number(topic.split('/')[1])];
        const watched: Watched = { seq: 0, known: 0 };
        if (topic !== 'grid' && !(number in JOBS)) {
          const detail = `run ${number} is not known; \`sateen ps\` lists the runs`;
          socket.send(JSON.stringify({ topic, kind: 'gone', problem: { title: 'Not Found', detail, status: 404 } }));
          continue;
        }
        topics.set(topic, watched);
        if (what === 'grid') send(topic, watched, 'snapshot', grid());
        if (what === 'run') send(topic, watched, 'snapshot', named(runValue(number, seconds(), known(number))));
        if (what === 'timeline') send(topic, watched, 'snapshot', named(timeline(number === 3 ? 0 : 400, number === 3 ? 0 : 44)));
        if (what === 'tree') {
          watched.known = known(number);
          for (const part of snapshot(number, tables(number), treeOf(number), watched.known)) {
            watched.seq += 1;
            socket.send(part);
          }
        }
      }
    });
    const timer = setInterval(() => {
      for (const [topic, watched] of topics) {
        const [what, number] = [topic.split('/')[0], Number(topic.split('/')[1])];
        if (what === 'grid') send(topic, watched, 'delta', { status: grid().status, alerts: ALERTS, runs: [{ ...grid().runs[0] }], hosts: [] });
        if (what === 'run' && number === 1) send(topic, watched, 'delta', named(runValue(number, seconds(), known(number))));
        if (what === 'tree' && number === 6) {
          // A grid that is at work: leaves all over the tree begin and end.
          const tree = treeOf(number);
          const places = Array.from({ length: CHANGES }, () => Math.floor(tree.jobs * (0.5 + Math.random() / 2)));
          for (const place of places) {
            if (tree.state[place] !== 0) goesOn(tree, place);
            else [tree.state[place], tree.ended[place], tree.workUs[place]] = [1, tree.begun[place] + 9, 9000];
          }
          socket.send(frame(number, 2, watched.seq++, {}, tree, places));
        }
        if (what === 'tree' && known(number) > watched.known) {
          const places = Array.from({ length: known(number) - watched.known }, (_, at) => watched.known + at);
          watched.known = known(number);
          socket.send(frame(number, 2, watched.seq++, tables(number), treeOf(number), places));
        }
      }
    }, TICK_MS);
    socket.on('close', () => clearInterval(timer));
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const json = (value: unknown, status = 200) => {
      response.writeHead(status, { 'content-type': status < 400 ? 'application/json' : 'application/problem+json' });
      response.end(JSON.stringify(value));
    };
    const problem = (status: number, detail: string) => json({ title: 'Refused', detail, status }, status);
    const path = url.pathname.replace(/^\/api\/v1\//, '');
    if (path === url.pathname) {
      file(url.pathname, response);
      return;
    }
    const [first, second, third, fourth] = path.split('/');
    request.resume();
    if (first === 'apps' && request.method === 'POST') {
      problem(422, 'the module is refused: it imports `wasi_snapshot_preview1.fd_write`, and guests get the ABI and nothing else');
    } else if (first === 'apps') json(named(APPS));
    else if (first === 'runs' && third === 'log') {
      const lines = Array.from({ length: 40 }, (_, at) => ({ number: at + 1, host: 'h7919', job: tag(1, at), text: `row ${at}: ${at * 31} ways so far` }));
      json({ lines: lines.filter((line) => line.number > Number(url.searchParams.get('after'))), dropped: 0 });
    } else if (first === 'runs' && third === 'result') {
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end('95815104\n');
    } else if (first === 'runs' && third === 'jobs') {
      const tree = treeOf(Number(second));
      const place = placeOf(Number(second), fourth);
      if (place < tree.jobs && tag(Number(second), place) === fourth) {
        const children: number[] = [];
        for (let child = place + 1; child < known(Number(second)); child += 1) if (tree.parent[child] === place) children.push(child);
        json(named({
          job: fourth, function: place === 0 ? 'main' : KINDS[tree.kind[place]], is_root: place === 0, depth: tree.depth[place],
          ...(place % UNSENT === UNSENT - 1
            ? { parameters: null, parameters_text: null, parameters_why: 'its host did not send them: they are too long' }
            : { parameters: '0c11000000040800010203', parameters_text: '(17, 4, [0, 1, 2, 3])', parameters_why: null }),
          host: 'h7919', host_name: 'ada', state: 'done', redone: false, begun_ms: 12, ended_ms: 900, work_s: 0.31,
          parent: place === 0 ? null : tag(Number(second), tree.parent[place]),
          children: children.map((child) => ({ job: tag(Number(second), child), function: KINDS[tree.kind[child]], state: 'done', work_s: 0.1 })),
          children_left_out: 0, replay: place % UNSENT === UNSENT - 1 ? null : `sateen replay ${fourth} --run ${second}`,
        }));
        return;
      }
      problem(404, `no job of run ${second} has the tag ${fourth}`);
    } else if (first === 'runs' && request.method === 'POST') problem(409, `run ${second} cannot be changed: this grid is none`);
    else problem(404, 'there is no such page');
  }

  function file(path: string, response: ServerResponse): void {
    const wanted = join(options.dist, normalize(path));
    const found = wanted.startsWith(options.dist) && existsSync(wanted) && statSync(wanted).isFile() ? wanted : join(options.dist, 'index.html');
    response.writeHead(200, {
      'content-type': TYPES[extname(found)] ?? 'application/octet-stream',
      'content-security-policy': "default-src 'self'",
      'x-content-type-options': 'nosniff',
      'cache-control': found.includes('/assets/') ? 'max-age=31536000, immutable' : 'no-cache',
    });
    createReadStream(found).pipe(response);
  }

  await new Promise<void>((ready) => server.listen(options.port, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    drop: () => sockets.clients.forEach((socket) => socket.terminate()),
    close: () =>
      new Promise((done) => {
        sockets.clients.forEach((socket) => socket.terminate());
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
