/** Runs older than those that the coordinator feeds, page by page. */

import { api } from './api.ts';
import type { Run } from './types.ts';

const PAGE = 50;
/** Wait after a change of the search, so that it begins once the user has stopped typing. */
const PATIENCE_MS = 300;

export interface Search {
  /** The oldest run that is fed. */
  before: number;
  state: string;
  words: string;
}

export class OlderRuns {
  runs = $state.raw<Run[]>([]);
  /** None are left to ask for. */
  isWhole = $state(false);
  isAsking = $state(false);
  trouble = $state('');
  #next = 0;
  #search: Search | null = null;
  #stop = new AbortController();

  /** What is searched for; null where there are no older runs. */
  constructor(search: () => Search | null) {
    // A key, so that only another search begins anew.
    const key = $derived(JSON.stringify(search()));
    $effect(() => {
      const wanted = JSON.parse(key) as Search | null;
      this.#search = wanted;
      this.#next = wanted?.before ?? 0;
      this.runs = [];
      this.isWhole = wanted === null;
      this.isAsking = false;
      this.trouble = '';
      this.#stop = new AbortController();
      const stop = this.#stop;
      // Without a filter, older runs are shown when somebody asks for them.
      const isFiltered = wanted !== null && (wanted.state !== '' || wanted.words !== '');
      const timer = isFiltered ? setTimeout(() => void this.more(), PATIENCE_MS) : undefined;
      return () => {
        clearTimeout(timer);
        stop.abort();
      };
    });
  }

  /** Asks for the next page. Pages may be empty while there are more: a coordinator looks at some runs at a time. */
  async more(): Promise<void> {
    const { signal } = this.#stop;
    if (!this.#search || this.isWhole || this.isAsking) return;
    this.isAsking = true;
    this.trouble = '';
    try {
      const { state, words } = this.#search;
      let found = 0;
      while (found === 0 && !this.isWhole) {
        // In their order: each page begins where the one before it ends.
        const page = await api.runs(this.#next, state, words, PAGE, signal);
        if (signal.aborted) return;
        found = page.runs.length;
        this.runs = [...this.runs, ...page.runs];
        this.isWhole = page.next === null;
        this.#next = page.next ?? 0;
      }
    } catch (error) {
      if (!signal.aborted) this.trouble = error instanceof Error ? error.message : String(error);
    } finally {
      if (!signal.aborted) this.isAsking = false;
    }
  }
}
