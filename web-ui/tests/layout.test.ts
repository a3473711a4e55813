import { describe, expect, it } from 'vitest';

import { dice, frame, grow, snapshot, type Synthetic } from '../e2e/synthetic/tree.ts';
import { parseFrame } from '../src/lib/feed/frame.ts';
import { NOBODY, STATES, Tree } from '../src/lib/tree/columns.ts';
import { whereabouts } from '../src/lib/tree/describe.ts';
import { Layout, type Measure } from '../src/lib/tree/layout.ts';
import { BOX_PX, SIBLINGS_SHOWN, CHILDREN_SHOWN, bond, drawn, neighbourhood } from '../src/lib/tree/neighbours.ts';
import { search } from '../src/lib/tree/search.ts';
import { ROW_PX, View } from '../src/lib/tree/view.ts';

const TABLES = { hosts: [], kinds: ['f', 'g', 'h', 'i'], shown: 0, total: 0, left_out: 0, entry_point: 'main' };

function treeOf(grown: Synthetic): Tree {
  const tree = new Tree();
  for (const part of snapshot(1, TABLES, grown, grown.jobs)) tree.apply(parseFrame(part));
  return tree;
}

function laidOut(grown: Synthetic, measure: Measure = 'work'): { tree: Tree; layout: Layout } {
  const tree = treeOf(grown);
  const layout = new Layout();
  layout.update(tree, measure);
  return { tree, layout };
}

/** A parent's children are within it, beside one another, and each level is in order. */
function holds(tree: Tree, layout: Layout): void {
  const slack = 1e-6;
  const used = new Map<number, number>();
  for (let level = 0; level < layout.depth; level += 1) {
    for (let at = layout.levels[level]; at < layout.levels[level + 1]; at += 1) {
      const place = layout.order[at];
      expect(layout.position[place]).toBe(at);
      expect(layout.levelOf(place)).toBe(level);
      if (at > layout.levels[level]) expect(layout.x[at]).toBeGreaterThanOrEqual(layout.x[at - 1] + layout.width[at - 1] - slack);
      if (level === 0) continue;
      const above = layout.position[tree.parent[place]];
      expect(layout.x[at]).toBeGreaterThanOrEqual(layout.x[above] - slack);
      expect(layout.x[at] + layout.width[at]).toBeLessThanOrEqual(layout.x[above] + layout.width[above] + slack);
      used.set(above, (used.get(above) ?? 0) + layout.width[at]);
    }
  }
  for (const [above, width] of used) expect(width).toBeLessThanOrEqual(layout.width[above] + slack);
}

describe('the layout', () => {
  it.each<Measure>(['work', 'time', 'jobs'])('keeps children within their parents by %s', (measure) => {
    const { tree, layout } = laidOut(grow(3000, 5, 0.02), measure);
    expect(layout.length).toBe(3000);
    holds(tree, layout);
  });

  it('gives each job its share of the work', () => {
    const grown = grow(200, 2, 0);
    const { layout } = laidOut(grown);
    for (let place = 0; place < 200; place += 1) {
      expect(layout.width[layout.position[place]]).toBeCloseTo(grown.workUs[place] / grown.workUs[0], 4);
    }
  });

  it('counts jobs that were rolled up', () => {
    const tree = treeOf(grow(3, 1, 0));
    tree.rolled[1] = 97;
    tree.parent[2] = 0;
    const layout = new Layout();
    layout.update(tree, 'jobs');
    expect(layout.width[layout.position[1]]).toBeCloseTo(98 / 100, 5);
  });

  it('takes parents that come after their children, and then again', () => {
    const grown = grow(400, 2, 0);
    const tree = new Tree();
    const late = Array.from({ length: 400 }, (_, at) => 399 - at);
    tree.apply(parseFrame(frame(1, 1, 0, TABLES, grown, late.slice(0, 250))));
    const layout = new Layout();
    layout.update(tree, 'work');
    expect(layout.length).toBe(250);
    holds(tree, layout);
    tree.apply(parseFrame(frame(1, 2, 1, {}, grown, late.slice(250))));
    layout.update(tree, 'work');
    expect([layout.length, layout.levels[1]]).toEqual([400, 1]);
    holds(tree, layout);
  });

  it('leaves out jobs that hang on one another in a circle, and ends', () => {
    const grown = grow(10, 1, 0);
    grown.parent[1] = 2;
    grown.parent[2] = 1;
    grown.parent[9] = 9;
    const { layout } = laidOut(grown);
    expect(layout.length).toBeLessThan(8);
    expect(layout.path(9)).toEqual([]);
  });

  it('bears a chain as deep as a skewed tree', () => {
    const grown = grow(100_000, 1, 0);
    for (let place = 1; place < grown.jobs; place += 1) grown.parent[place] = place - 1;
    const { layout } = laidOut(grown);
    expect(layout.depth).toBe(100_000);
    expect(layout.path(99_999).length).toBe(100_000);
  });

  it('is empty without jobs', () => {
    const layout = new Layout();
    layout.update(new Tree(), 'work');
    expect([layout.depth, layout.length, layout.at(0, 0.5)]).toEqual([0, 0, NOBODY]);
  });

  it('finds the job at a point as a search through all would', () => {
    const { layout } = laidOut(grow(5000, 3, 0.01));
    const random = dice(5);
    for (let once = 0; once < 500; once += 1) {
      const level = Math.floor(random() * layout.depth);
      const x = random();
      let wanted = NOBODY;
      for (let at = layout.levels[level]; at < layout.levels[level + 1]; at += 1) {
        if (x >= layout.x[at] && x < layout.x[at] + layout.width[at]) wanted = layout.order[at];
      }
      expect(layout.at(level, x)).toBe(wanted);
    }
  });

  it('knows of each strip whether anything in it failed', () => {
    const { tree, layout } = laidOut(grow(5000, 3, 0.01));
    const random = dice(6);
    const isBad = (at: number) => ['failed', 'lost'].includes(tree.stateOf(layout.order[at]));
    for (let once = 0; once < 300; once += 1) {
      const begin = Math.floor(random() * 4900);
      const end = begin + 1 + Math.floor(random() * 90);
      const found = layout.badOf(begin, end);
      const wanted = Array.from({ length: end - begin }, (_, at) => begin + at).find(isBad) ?? -1;
      expect(found).toBe(wanted);
    }
  });
});

describe('the view', () => {
  const { tree, layout } = laidOut(grow(5000, 3, 0));
  const view = new View();
  view.widthPx = 1000;
  view.heightPx = 400;

  it('zooms around the pointer, and no farther than the whole', () => {
    const under = () => view.seen(layout).left + 0.3 * (view.right - view.left);
    const before = under();
    view.zoom(8, 300);
    expect(under()).toBeCloseTo(before, 12);
    for (let once = 0; once < 200; once += 1) view.zoom(3, 300);
    expect(view.right - view.left).toBeGreaterThan(0);
    for (let once = 0; once < 300; once += 1) view.zoom(0.3, 900);
    expect([view.left, view.right]).toEqual([0, 1]);
  });

  it('does not leave its frame', () => {
    view.zoom(4, 500);
    view.panX(1e9);
    expect(view.right).toBe(1);
    view.panX(-1e9);
    expect(view.left).toBe(0);
    view.panRows(1e9, layout);
    expect(view.top).toBe(Math.max(0, layout.depth - Math.floor(400 / ROW_PX)));
    view.panRows(-1e9, layout);
    expect(view.top).toBe(0);
  });

  it('brings any job into sight, where it is then found', () => {
    for (const place of [0, 17, 300, 4999]) {
      view.reveal(tree, layout, place);
      const box = view.box(layout, place);
      expect(box).not.toBeNull();
      if (!box) continue;
      expect(box.y).toBeGreaterThanOrEqual(0);
      expect(box.y).toBeLessThan(400);
      expect(view.hit(layout, Math.max(1, box.x + box.width / 2), box.y + 3)).toBe(place);
    }
  });

  it('keeps to a part that the address names only if it is one', () => {
    view.focusOn(NOBODY);
    expect(view.part).toBeNull();
    for (const part of ['', 'x-1', '0.5-0.2', '-1-2', '0.2-0.2', '0.1-0.2-0.3', '0..1-0.2']) {
      view.part = part;
      expect([view.left, view.right], part).toEqual([0, 1]);
    }
    view.part = '0.25-0.5';
    expect([view.left, view.right]).toEqual([0.25, 0.5]);
    view.part = null;
    expect([view.left, view.right]).toEqual([0, 1]);
  });

  it('is the same again from an address, however close it is', () => {
    for (const px of [3, 500, 900]) {
      view.focusOn(NOBODY);
      for (let once = 0; once < 40; once += 1) view.zoom(2, px);
      const [left, right] = [view.left, view.right];
      const { part } = view;
      view.focusOn(NOBODY);
      view.part = part;
      expect(Math.abs(view.left - left)).toBeLessThan((right - left) / 100);
      expect(Math.abs(view.right - right)).toBeLessThan((right - left) / 100);
    }
  });
});

describe('the neighbourhood', () => {
  const grown = grow(400, 1, 0);
  // One job with many children, some of them stolen, of which one was adopted and one reused.
  for (let place = 100; place < 150; place += 1) grown.parent[place] = 7;
  const { tree, layout } = laidOut(grown);
  tree.tables = { ...tree.tables, hosts: ['ada', 'bob', 'cyd'].map((name) => ({ id: name, name, site: '' })) };
  for (let place = 100; place < 110; place += 1) tree.host[place] = 1;
  for (let place = 110; place < 113; place += 1) tree.host[place] = 2;
  tree.state[100] = STATES.indexOf('adopted');
  tree.state[101] = STATES.indexOf('reused');
  const of = (place: number) => neighbourhood(tree, layout, place);
  const places = (place: number, role: string) => of(place).jobs.filter((job) => job.role === role).map((job) => job.place);

  it('is the parent, siblings and children, the widest of them, and says how many there are', () => {
    const widest = (all: number[], limit: number) =>
      all.toSorted((a, b) => layout.width[layout.position[b]] - layout.width[layout.position[a]]).slice(0, limit);
    const children = [...layout.childrenOf(7)];
    expect(children.length).toBeGreaterThanOrEqual(50);
    expect(of(7).children).toEqual({ shown: CHILDREN_SHOWN, count: children.length });
    expect(new Set(places(7, 'child'))).toEqual(new Set(widest(children, CHILDREN_SHOWN)));
    expect(places(7, 'parent')).toEqual([tree.parent[7]]);
    // The chosen one is there, however narrow it is.
    const narrowest = widest(children, children.length).at(-1) ?? NOBODY;
    expect(places(narrowest, 'chosen')).toEqual([narrowest]);
    expect(of(narrowest).siblings).toEqual({ shown: SIBLINGS_SHOWN - 1, count: children.length - 1 });
    expect(places(narrowest, 'parent')).toEqual([7]);
    expect(places(0, 'parent')).toEqual([]);
    expect([places(0, 'chosen'), of(0).siblings.count]).toEqual([[0], 0]);
  });

  it('says which host took what from which', () => {
    expect([100, 101, 102, 120].map((place) => bond(tree, place))).toEqual(['adopted', 'reused', 'stolen', 'spawned']);
    expect(of(7).steals).toEqual([{ thief: 'bob', victim: 'ada', count: 8 }, { thief: 'cyd', victim: 'ada', count: 3 }]);
    expect(of(102).steals).toContainEqual({ thief: 'bob', victim: 'ada', count: 1 });
    expect(whereabouts(tree, 102)).toBe('done on bob, stolen from ada');
    expect(whereabouts(tree, 120)).toBe('done on ada');
  });

  it.each([390, 1200])('is drawn in %i pixels, no box over another, each below or beside its parent', (widthPx) => {
    const { boxes, heightPx } = drawn(of(7).jobs, widthPx);
    expect(boxes.length).toBe(of(7).jobs.length);
    for (const [at, box] of boxes.entries()) {
      expect(box.x).toBeGreaterThanOrEqual(0);
      expect(box.x + box.width).toBeLessThanOrEqual(widthPx);
      expect(box.y + BOX_PX).toBeLessThanOrEqual(heightPx);
      expect(box.link !== '').toBe(box.role !== 'parent');
      for (const other of boxes.slice(at + 1)) {
        const isApart = other.x >= box.x + box.width || box.x >= other.x + other.width || other.y >= box.y + BOX_PX || box.y >= other.y + BOX_PX;
        expect(isApart).toBe(true);
      }
    }
  });
});

describe('the search', () => {
  const { tree } = laidOut(grow(2000, 2, 0));

  it('finds by function and by the beginning of a tag', () => {
    const tag = tree.tag(1234);
    expect(search(tree, tag, 5)).toEqual({ places: [1234], count: 1 });
    expect(search(tree, tag.slice(0, 9).toUpperCase(), 5).places).toContain(1234);
    expect(search(tree, 'MAIN', 5)).toEqual({ places: [0], count: 1 });
    const found = search(tree, 'g', 5);
    expect(found.places.length).toBe(5);
    expect(found.count).toBe(Array.from({ length: 2000 }, (_, at) => at).filter((at) => tree.functionOf(at) === 'g').length);
    expect(search(tree, ' ', 5).count).toBe(0);
  });
});
