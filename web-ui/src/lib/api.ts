/** Requests to the coordinator. Errors are its own sentences, or say that it is not there. */

import { localise } from './local.ts';
import type { App, JobDetail, Log, Priority, Problem, Run, TimelineValue } from './types.ts';

/** Of a result that is text. The rest can be downloaded. */
export const RESULT_BYTES_SHOWN = 64 * 1024;

/** A request that was refused, or not answered. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`/api/v1/${path}`, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Refused(0, 'The coordinator does not answer. Is it still running?');
  }
  if (response.ok) return response;
  throw new Refused(response.status, await reason(response));
}

async function reason(response: Response): Promise<string> {
  try {
    const problem = (await response.json()) as Partial<Problem>;
    const text = problem.detail ?? problem.title;
    if (typeof text === 'string' && text !== '') return sentence(text);
  } catch {
    // Said below.
  }
  return `The coordinator answered ${response.status} ${response.statusText}`.trimEnd() + '.';
}

/** With a full stop. What it begins with may be a name, and keeps its letters. */
export function stopped(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** With a capital and a full stop. */
export function sentence(text: string): string {
  return stopped(text.charAt(0).toUpperCase() + text.slice(1));
}

async function json<T>(path: string, init?: RequestInit): Promise<T> {
  const response = await ask(path, init);
  return (await response.json()) as T;
}

export const api = {
  apps: (signal?: AbortSignal) => json<App[]>('apps', { signal }),
  /** Runs older than `before` that have a state and contain words, and before which to look for more, if there may be. */
  async runs(before: number, state: string, words: string, limit: number, signal?: AbortSignal): Promise<{ runs: Run[]; next: number | null }> {
    const query = new URLSearchParams({ before: String(before), state, q: words, limit: String(limit) });
    const response = await ask(`runs?${query.toString()}`, { signal });
    const next = /before=(\d+)[^>]*>; rel="next"/.exec(response.headers.get('link') ?? '');
    return { runs: localise((await response.json()) as Run[]), next: next ? Number(next[1]) : null };
  },
  /** Returns the hash of what was uploaded. */
  upload: async (file: Blob) => (await json<{ hash: string }>('blobs', { method: 'POST', body: file })).hash,
  job: (run: number, tag: string, signal?: AbortSignal) =>
    json<JobDetail>(`runs/${run}/jobs/${encodeURIComponent(tag)}`, { signal }),
  log: (run: number, after: number, signal?: AbortSignal) => json<Log>(`runs/${run}/log?after=${after}`, { signal }),
  timeline: async (run: number, signal?: AbortSignal) => localise(await json<TimelineValue>(`runs/${run}/timeline`, { signal })),
  change: (run: number, wish: 'cancel' | 'suspend' | 'resume') => json<Run>(`runs/${run}/${wish}`, { method: 'POST' }),
  publish: (name: string, module: Blob) =>
    json<App>(`apps?name=${encodeURIComponent(name)}`, { method: 'POST', body: module }),
  submit: (submission: { app: string; function?: string; arguments: string[]; inputs?: Record<string, string>; priority?: Priority; reuse?: boolean }) =>
    json<{ run: number }>('runs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(submission),
    }),
  /** The beginning of a run's result, if it is text, and how many bytes there are in all. */
  async result(run: number, signal?: AbortSignal): Promise<{ text: string | null; bytes: number | null; isCut: boolean }> {
    const response = await ask(`runs/${run}/result`, { signal });
    const length = Number(response.headers.get('content-length') ?? Number.NaN);
    const isText = (response.headers.get('content-type') ?? '').startsWith('text/');
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    let text = '';
    let read = 0;
    let isOver = !reader;
    while (reader && isText && read < RESULT_BYTES_SHOWN) {
      const { done, value } = await reader.read();
      isOver = done;
      if (done) break;
      read += value.length;
      text += decoder.decode(value, { stream: true });
    }
    if (!isOver) await reader?.cancel();
    const isCut = isText && (!isOver || read > RESULT_BYTES_SHOWN);
    return { text: isText ? text.slice(0, RESULT_BYTES_SHOWN) : null, bytes: Number.isNaN(length) ? (isOver ? read : null) : length, isCut };
  },
};
