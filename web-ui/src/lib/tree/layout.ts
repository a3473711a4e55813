/**
 * Where the jobs of a tree are in an icicle: `x` and `width` as shares of the whole, a level a spawn. Jobs are
 * kept level by level, each level from left to right, so that what a pixel shows is found by bisection and a
 * million jobs cost a frame no more than a thousand.
 */

import { FAILED, LOST, NOBODY, NOT_YET, RUNNING, UNKNOWN, type Tree } from './columns.ts';

/** What a job's width is: processor time of its subtree, wall time, or the number of jobs. */
export type Measure = 'work' | 'time' | 'jobs';

/** A job that took no time is still there. */
const LEAST_US = 1;

export class Layout {
  /** Jobs that are laid out. */
  length = 0;
  /** Places of jobs, level by level. An index into this is a position. */
  order = new Uint32Array(0);
  x = new Float64Array(0);
  width = new Float32Array(0);
  /** Where each level begins, and the end. */
  levels: number[] = [0];
  /** Children of a place, as a list. */
  first = new Uint32Array(0);
  next = new Uint32Array(0);
  /** The position of a place, or `NOBODY`. */
  position = new Uint32Array(0);
  /** Of the positions before this one: their widths, how many failed or were lost, how many run. */
  covered = new Float64Array(1);
  #bad = new Uint32Array(1);
  #live = new Uint32Array(1);
  #shape = -1;
  #tree: Tree | null = null;

  get depth(): number {
    return this.levels.length - 1;
  }

  /** Lays `tree` out anew. */
  update(tree: Tree, measure: Measure): void {
    if (this.#tree !== tree || this.#shape !== tree.shape) this.#reshape(tree);
    this.#measure(tree, measure);
  }

  /** Children's lists, and from these the order. Jobs in a circle hang on no root and are left out. */
  #reshape(tree: Tree): void {
    const { length, parent, state } = tree;
    this.#tree = tree;
    this.#shape = tree.shape;
    this.#reserve(length);
    const { first, next, order, position } = this;
    first.fill(NOBODY, 0, length);
    let roots = NOBODY;
    for (let place = length - 1; place >= 0; place -= 1) {
      position[place] = NOBODY;
      if (state[place] === UNKNOWN) continue;
      const above = parent[place];
      if (above < length && state[above] !== UNKNOWN) {
        next[place] = first[above];
        first[above] = place;
      } else {
        next[place] = roots;
        roots = place;
      }
    }
    let end = 0;
    for (let root = roots; root !== NOBODY; root = next[root]) order[end++] = root;
    this.levels = [0];
    for (let begin = 0; begin < end; ) {
      const levelEnd = end;
      this.levels.push(levelEnd);
      for (; begin < levelEnd; begin += 1) {
        const place = order[begin];
        position[place] = begin;
        for (let child = first[place]; child !== NOBODY; child = next[child]) order[end++] = child;
      }
    }
    this.length = end;
  }

  #measure(tree: Tree, measure: Measure): void {
    const { order, x, width, first, next, length, position } = this;
    const { parent, workUs, begun, ended, rolled, newestMs } = tree;
    // Widths from below: what children add up to, or the job's own, if that is more. `x` has the sums.
    x.fill(0, 0, length);
    let whole = 0;
    for (let at = length - 1; at >= 0; at -= 1) {
      const place = order[at];
      let own: number;
      let weight: number;
      if (measure === 'jobs') {
        weight = x[at] + 1 + rolled[place];
      } else {
        const end = ended[place] === NOT_YET ? newestMs : ended[place];
        const wallUs = Math.max(0, end - begun[place]) * 1000;
        own = measure === 'time' ? wallUs : workUs[place];
        // While it runs, it has had one worker at most.
        if (!(own >= 0)) own = ended[place] === NOT_YET && tree.state[place] === RUNNING ? wallUs : 0;
        weight = Math.max(own, x[at], LEAST_US);
      }
      width[at] = weight;
      const above = parent[place];
      if (above < tree.length && position[above] !== NOBODY) x[position[above]] += weight;
      else whole += weight;
    }
    // Places from above.
    const scale = whole > 0 ? 1 / whole : 0;
    let root = 0;
    for (let at = 0; at < this.levels[1]; at += 1) {
      x[at] = root;
      root += width[at] * scale;
    }
    const { covered } = this;
    const bad = this.#bad;
    const live = this.#live;
    for (let at = 0; at < length; at += 1) {
      const place = order[at];
      const state = tree.state[place];
      width[at] *= scale;
      let cursor = x[at];
      // Widths are rounded: what they add up to may be a trace more.
      const end = Math.min(1, x[at] + width[at]);
      for (let child = first[place]; child !== NOBODY; child = next[child]) {
        const below = position[child];
        x[below] = Math.min(cursor, end);
        cursor += width[below] * scale;
      }
      covered[at + 1] = covered[at] + width[at];
      bad[at + 1] = bad[at] + (state === FAILED || state === LOST ? 1 : 0);
      live[at + 1] = live[at] + (state === RUNNING ? 1 : 0);
    }
  }

  #reserve(length: number): void {
    if (length <= this.order.length && this.order.length > 0) return;
    const capacity = Math.max(length, Math.min(2 * this.order.length, 1 << 20), 1024);
    this.order = new Uint32Array(capacity);
    this.x = new Float64Array(capacity);
    this.width = new Float32Array(capacity);
    this.first = new Uint32Array(capacity);
    this.next = new Uint32Array(capacity);
    this.position = new Uint32Array(capacity);
    this.covered = new Float64Array(capacity + 1);
    this.#bad = new Uint32Array(capacity + 1);
    this.#live = new Uint32Array(capacity + 1);
  }

  /** The first position of a level, from `from` on, whose job begins at `x` or after it. */
  seek(level: number, x: number, from = this.levels[level]): number {
    let low = from;
    let high = this.levels[level + 1];
    // Most often it is near.
    for (let step = 1; low + step < high; step *= 2) {
      if (this.x[low + step] >= x) {
        high = low + step;
        break;
      }
      low += step;
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.x[middle] < x) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The place of the job at `x` of a level, or `NOBODY`. */
  at(level: number, x: number): number {
    if (level < 0 || level >= this.depth) return NOBODY;
    const begin = this.levels[level];
    let at = this.seek(level, x);
    if (at >= this.levels[level + 1] || this.x[at] > x) at -= 1;
    return at >= begin && x < this.x[at] + this.width[at] ? this.order[at] : NOBODY;
  }

  /** The level of a place, or -1. */
  levelOf(place: number): number {
    const at = this.position[place];
    if (at === undefined || at === NOBODY || at >= this.length) return -1;
    let low = 0;
    let high = this.depth;
    while (low + 1 < high) {
      const middle = (low + high) >>> 1;
      if (this.levels[middle] <= at) low = middle;
      else high = middle;
    }
    return low;
  }

  /** A position among these whose job failed or was lost, or -1. */
  badOf(begin: number, end: number): number {
    if (this.#bad[end] === this.#bad[begin]) return -1;
    let low = begin;
    let high = end;
    while (low + 1 < high) {
      const middle = (low + high) >>> 1;
      if (this.#bad[middle] > this.#bad[begin]) high = middle;
      else low = middle;
    }
    return low;
  }

  hasRunning(begin: number, end: number): boolean {
    return this.#live[end] > this.#live[begin];
  }

  /** The jobs above a place, from its root down to it. */
  path(place: number): number[] {
    const path: number[] = [];
    const tree = this.#tree;
    if (!tree) return path;
    for (let at = place; at < tree.length && path.length <= this.depth; at = tree.parent[at]) {
      if (this.position[at] === NOBODY || tree.state[at] === UNKNOWN) break;
      path.push(at);
    }
    return path.reverse();
  }

  /** The children of a place, or the roots, in their order. */
  *childrenOf(place: number): Generator<number> {
    const first = place === NOBODY ? (this.length > 0 ? this.order[0] : NOBODY) : (this.first[place] ?? NOBODY);
    for (let child = first; child !== NOBODY; child = this.next[child]) yield child;
  }

  /** The widest children of a place, or roots, and how many there are. `kept` is among them in any case. */
  widest(place: number, limit: number, kept = NOBODY): { places: number[]; count: number } {
    const places: number[] = [];
    const widthOf = (one: number) => (one === kept ? Infinity : this.width[this.position[one]]);
    let count = 0;
    for (const child of this.childrenOf(place)) {
      count += 1;
      const width = widthOf(child);
      if (places.length === limit && (limit === 0 || widthOf(places[limit - 1]) >= width)) continue;
      let at = places.length;
      while (at > 0 && widthOf(places[at - 1]) < width) at -= 1;
      places.splice(at, 0, child);
      if (places.length > limit) places.pop();
    }
    return { places, count };
  }
}
