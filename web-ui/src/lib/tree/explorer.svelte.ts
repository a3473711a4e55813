/** How one looks at the tree of a run: what is laid out, which part is seen, what is chosen. The address says the same. */

import { untrack } from 'svelte';

import { WatchedTree } from '../live.svelte.ts';
import { router } from '../router.svelte.ts';
import { theme } from '../theme.svelte.ts';
import { NOBODY } from './columns.ts';
import { describe } from './describe.ts';
import type { Colouring } from './draw.ts';
import { Layout, type Measure } from './layout.ts';
import { search } from './search.ts';
import { View } from './view.ts';

/** Laying out takes at most this share of the time. */
const LAYOUT_SHARE = 0.1;
/** While one drags, the tree stays as it is. */
const BUSY_MS = 200;
const FOUND_SHOWN = 30;
const GLIDE_MS = 180;
const SAY_MS = 300;

export class Explorer {
  readonly watched: WatchedTree;
  readonly layout = new Layout();
  readonly view = new View();
  measure = $state<Measure>('work');
  colouring = $state<Colouring>('state');
  words = $state('');
  /** What the address names; places follow from these as the tree comes. */
  readonly jobTag = $derived(router.query.get('job') ?? '');
  readonly #focusTag = $derived(router.query.get('focus') ?? '');
  selected = $state(NOBODY);
  /** The job whose subtree fills the width; `NOBODY` for the whole. */
  focus = $state(NOBODY);
  /** The tree has all its jobs, and not the one that the address names. */
  isMissing = $state(false);
  /** For those who do not see the canvas. */
  announced = $state('');
  /** Moves when a layout is new. */
  laid = $state(0);
  /** Moves with all that changes what is seen. */
  moved = $state(0);
  canScroll = $state(false);
  readonly found = $derived.by(() => {
    void this.laid;
    return search(this.tree, this.words, FOUND_SHOWN);
  });
  isBusy = false;
  #isRevealed = false;
  #layoutTimer: ReturnType<typeof setTimeout> | undefined;
  #laidAt = -Infinity;
  #layoutMs = 0;
  #sayTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(run: () => number) {
    const by = router.query.get('by');
    if (by === 'time' || by === 'jobs') this.measure = by;
    if (router.query.get('colour') === 'host') this.colouring = 'host';
    this.words = router.query.get('q') ?? '';
    this.watched = new WatchedTree(run);
    // A new part of the tree, or another measure: laid out soon, but not more often than is cheap.
    $effect(() => {
      void this.watched.version;
      void this.measure;
      untrack(() => this.#layOutSoon());
    });
    $effect(() => {
      void this.jobTag;
      void this.#focusTag;
      untrack(() => {
        this.#resolve();
        this.changed(false);
      });
    });
    // What part the address names, when one comes to it.
    $effect(() => {
      void router.visit;
      untrack(() => {
        this.view.part = router.query.get('view');
        this.changed(false);
      });
    });
    $effect(() => () => {
      clearTimeout(this.#layoutTimer);
      clearTimeout(this.#sayTimer);
    });
  }

  get tree() {
    return this.watched.tree;
  }

  #layOutSoon(): void {
    if (this.#layoutTimer !== undefined) return;
    const due = this.#laidAt + this.#layoutMs / LAYOUT_SHARE - performance.now();
    const layOut = () => {
      this.#layoutTimer = undefined;
      if (this.isBusy) this.#layOutSoon();
      else this.#layOut();
    };
    this.#layoutTimer = setTimeout(layOut, Math.max(this.isBusy ? BUSY_MS : 0, due));
  }

  #layOut(): void {
    const begun = performance.now();
    this.layout.update(this.tree, this.measure);
    this.#laidAt = performance.now();
    this.#layoutMs = this.#laidAt - begun;
    performance.measure('sateen.layout', { start: begun, end: this.#laidAt });
    this.#resolve();
    this.laid += 1;
    this.changed(false);
  }

  /** Places of what the address names. */
  #resolve(): void {
    const { tree, view } = this;
    const isAt = (place: number, tag: string) => place !== NOBODY && place < tree.length && tree.tag(place) === tag;
    if (!isAt(view.focus, this.#focusTag)) view.focus = this.#focusTag === '' ? NOBODY : tree.find(this.#focusTag);
    this.focus = view.focus;
    if (this.jobTag === '') {
      this.selected = NOBODY;
      this.isMissing = false;
    } else if (!isAt(this.selected, this.jobTag)) {
      this.selected = tree.find(this.jobTag);
      this.isMissing = this.selected === NOBODY && tree.isWhole;
      if (this.selected !== NOBODY && !this.#isRevealed) {
        this.#isRevealed = true;
        if (router.query.get('view') === null) view.reveal(tree, this.layout, this.selected);
      }
    }
  }

  /** What is seen is another part. */
  changed(isSaid = true): void {
    this.canScroll = !this.view.fits(this.layout);
    this.moved += 1;
    if (isSaid) this.#sayView();
  }

  #sayView(): void {
    clearTimeout(this.#sayTimer);
    this.#sayTimer = setTimeout(() => router.say({ view: this.view.part }), SAY_MS);
  }

  select(place: number): void {
    this.#isRevealed = true;
    router.say({ job: place === NOBODY ? null : this.tree.tag(place) });
    if (place !== NOBODY) this.announced = this.describe(place);
  }

  /** Selects a job and brings it into sight. */
  reveal(place: number): void {
    const { tree, view } = this;
    this.select(place);
    const before = view.focus;
    view.reveal(tree, this.layout, place);
    if (view.focus !== before) router.say({ focus: view.focus === NOBODY ? null : tree.tag(view.focus) });
    this.changed();
  }

  /** The same by its tag, also if the tree has no room for it. */
  choose(tag: string): void {
    const place = this.tree.find(tag);
    if (place === NOBODY) router.say({ job: tag });
    else this.reveal(place);
  }

  /** Makes a job's subtree fill the width; glides there. */
  focusOn(place: number): void {
    const { view, layout } = this;
    const before = view.seen(layout);
    clearTimeout(this.#sayTimer);
    router.say({ focus: place === NOBODY ? null : this.tree.tag(place), view: null }, true);
    view.focusOn(place);
    this.focus = place;
    this.announced = place === NOBODY ? 'The whole tree' : `Below ${this.describe(place)}`;
    const frame = view.frame(layout);
    if (theme.isStill || frame.width <= 0) {
      this.changed();
      return;
    }
    // From what was seen to all of the new frame.
    const from = { left: (before.left - frame.x) / frame.width, right: (before.right - frame.x) / frame.width };
    const begun = performance.now();
    const step = (now: number) => {
      const share = Math.min(1, Math.max(0, (now - begun) / GLIDE_MS));
      const eased = 1 - (1 - share) ** 3;
      view.left = from.left * (1 - eased);
      view.right = from.right + (1 - from.right) * eased;
      if (share < 1) requestAnimationFrame(step);
      else [view.left, view.right] = [0, 1];
      this.changed(share === 1);
    };
    requestAnimationFrame(step);
  }

  /** Focuses on the job above. */
  up(): void {
    if (this.view.focus === NOBODY) return;
    const parent = this.tree.parent[this.view.focus];
    this.focusOn(parent < this.tree.length ? parent : NOBODY);
  }

  zoom(factor: number, px = this.view.widthPx / 2): void {
    this.view.zoom(factor, px);
    this.changed();
  }

  describe(place: number): string {
    return describe(this.tree, this.layout, place);
  }

  /** Of what was found, what comes after the job that is chosen, and in the end the first again. */
  findNext(): void {
    const { places } = this.found;
    if (places.length > 0) this.reveal(places[(places.indexOf(this.selected) + 1) % places.length]);
  }
}
