/** What the coordinator feeds, as pages see it. Whatever grows is kept out of deep reactivity. */

import { untrack } from 'svelte';

import { Feed, type Connection, type Listener } from './feed/feed.ts';
import { mergeGrid, mergeRun, mergeTimeline } from './feed/merge.ts';
import { BadFrame } from './feed/frame.ts';
import { Tree } from './tree/columns.ts';
import type { GridValue, Problem, RunValue, TimelineValue } from './types.ts';

class Live {
  connection = $state<Connection>('connecting');
  /** When something came last, by this machine's clock. */
  dataAt = $state(0);
  trouble = $state<string | null>(null);
  grid = $state.raw<GridValue | null>(null);
  #feed: Feed;

  constructor() {
    const address = `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws/watch`;
    this.#feed = new Feed({
      open: () => new WebSocket(address),
      now: () => Date.now(),
      after: (ms, what) => setTimeout(what, ms),
    });
    this.#feed.onconnection = (connection) => {
      this.connection = connection;
      if (connection === 'open') this.trouble = null;
    };
    this.#feed.ondata = (at) => {
      // Seconds are enough to show.
      if (at - this.dataAt > 500) this.dataAt = at;
    };
    this.#feed.ontrouble = (text) => (this.trouble = text);
    this.#feed.watch('grid', {
      value: (value, whole) => (this.grid = mergeGrid(this.grid, value as GridValue, whole)),
    });
    this.#feed.start();
    addEventListener('online', () => this.#feed.retryNow());
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.#feed.retryNow();
    });
  }

  watch(topic: string, listener: Listener): () => void {
    return this.#feed.watch(topic, listener);
  }

  retry(): void {
    this.#feed.retryNow();
  }

  complain(text: string): void {
    this.trouble = text;
  }
}

export const live = new Live();

/** A topic of a run that is watched as long as an effect lives. */
class Watched<T> {
  value = $state.raw<T | null>(null);
  gone = $state.raw<Problem | null>(null);

  constructor(topic: string, run: () => number, merge: (known: T | null, value: T, whole: boolean) => T | null) {
    // Of all that may have moved, only another number is another run.
    const wanted = $derived(run());
    $effect(() => {
      const number = wanted;
      this.value = null;
      this.gone = null;
      return live.watch(`${topic}/${number}`, {
        value: (value, whole) => {
          this.value = merge(this.value, value as T, whole);
          this.gone = null;
        },
        gone: (problem) => (this.gone = problem),
      });
    });
  }
}

export class WatchedRun extends Watched<RunValue> {
  constructor(run: () => number) {
    super('run', run, mergeRun);
  }
}

/** The tree of a run; `version` moves with it, at most once a frame of the screen. */
export class WatchedTree {
  tree = new Tree();
  version = $state(0);
  gone = $state.raw<Problem | null>(null);

  constructor(run: () => number) {
    // Of all that may have moved, only another number is another run.
    const wanted = $derived(run());
    $effect(() => {
      const number = wanted;
      this.tree = new Tree();
      this.gone = null;
      let isAsked = false;
      const show = () => {
        isAsked = false;
        this.version += 1;
      };
      untrack(show);
      return live.watch(`tree/${number}`, {
        frame: (frame) => {
          try {
            this.tree.apply(frame);
          } catch (error) {
            if (!(error instanceof BadFrame)) throw error;
            live.complain(`The coordinator sent a tree that cannot be read: ${error.message}.`);
          }
          if (!isAsked) {
            isAsked = true;
            requestAnimationFrame(show);
          }
        },
        gone: (problem) => (this.gone = problem),
      });
    });
  }
}

export class WatchedTimeline extends Watched<TimelineValue> {
  constructor(run: () => number) {
    super('timeline', run, mergeTimeline);
  }
}
