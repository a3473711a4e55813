/** A real coordinator and real hosts, from SATEEN_DIST or ../dist, with data that is thrown away with them. */

import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const DIST = process.env.SATEEN_DIST ?? fileURLToPath(new URL('../../dist', import.meta.url));

export const app = (name: string) => join(DIST, 'apps', `${name}.wasm`);

function freePort(): Promise<number> {
  return new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => found(port));
    });
  });
}

export class Grid {
  readonly url: string;
  #folder = mkdtempSync(join(tmpdir(), 'sateen-ui-'));
  #coordinator: ChildProcess | null = null;
  #hosts = new Map<string, ChildProcess>();
  /** An admin's, if tokens are needed. */
  #token = '';

  private constructor(
    readonly port: number,
    /** Of the coordinator, beside those that each has. */
    readonly flags: string[],
  ) {
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(...flags: string[]): Promise<Grid> {
    if (!existsSync(join(DIST, 'sateen-coordinator'))) throw new Error(`there is no sateen-coordinator in ${DIST}; run cargo xtask build`);
    const grid = new Grid(await freePort(), flags);
    await grid.startCoordinator();
    return grid;
  }

  /** One that needs tokens, as if other machines could reach it. */
  static async startGuarded(): Promise<Grid> {
    const grid = new Grid(await freePort(), ['--require-tokens']);
    const words = ['token', 'new', '--scope', 'admin', '--data-dir', join(grid.#folder, 'coordinator')];
    grid.#token = (await promisify(execFile)(join(DIST, 'sateen-coordinator'), words)).stdout.trim();
    await grid.startCoordinator();
    return grid;
  }

  #spawn(program: string, name: string, flags: string[]): ChildProcess {
    const log = openSync(join(this.#folder, `${name}.log`), 'a');
    return spawn(join(DIST, program), [...flags, '--data-dir', join(this.#folder, name)], { stdio: ['ignore', log, log] });
  }

  async startCoordinator(): Promise<void> {
    this.#coordinator = this.#spawn('sateen-coordinator', 'coordinator', ['--listen', `127.0.0.1:${this.port}`, ...this.flags]);
    await until('the coordinator is ready', async () => (await fetch(`${this.url}/readyz`)).ok, () => this.log('coordinator'));
  }

  async killCoordinator(): Promise<void> {
    await killed(this.#coordinator);
  }

  /** Returns the address of its own page. */
  async addHost(name: string, site: string): Promise<string> {
    const page = `127.0.0.1:${await freePort()}`;
    // A busy machine must not keep a test from its end, so the host has the priority of other programs.
    const flags = ['--coordinator', this.url, '--name', name, '--site', site, '--priority', 'normal', '--threads', '1', '--page', page];
    this.#hosts.set(name, this.#spawn('sateen-host', name, flags));
    const isThere = async () => (await this.api<{ name: string; connected: boolean }[]>('hosts')).some((host) => host.name === name && host.connected);
    await until(`${name} has joined`, isThere, () => this.log(name));
    return `http://${page}/`;
  }

  async killHost(name: string): Promise<void> {
    await killed(this.#hosts.get(name) ?? null);
    this.#hosts.delete(name);
  }

  async sateen(...words: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(join(DIST, 'sateen'), words, { env: this.#variables() });
    return stdout.trim();
  }

  #variables(): NodeJS.ProcessEnv {
    return { ...process.env, SATEEN_COORDINATOR: this.url, ...(this.#token && { SATEEN_TOKEN: this.#token }) };
  }

  async api<T>(path: string): Promise<T> {
    const response = await fetch(`${this.url}/api/v1/${path}`);
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  log(name: string): string {
    return readFileSync(join(this.#folder, `${name}.log`), 'utf8').slice(-2000);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#hosts.values(), this.#coordinator].map(killed));
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** `kill -9`, and until it is gone. */
async function killed(child: ChildProcess | null): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((done) => {
    child.once('exit', done);
    child.kill('SIGKILL');
  });
}

export async function until(what: string, isSo: () => Promise<boolean>, why: () => string = () => ''): Promise<void> {
  const begun = Date.now();
  for (;;) {
    if (await isSo().catch(() => false)) return;
    if (Date.now() - begun > 60_000) throw new Error(`it takes too long until ${what}\n${why()}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}
