/** The jobs around a chosen one, above it, beside it and below it: which are shown, where, and which hosts stole them. */

import { NOBODY, type Tree } from './columns.ts';
import type { Layout } from './layout.ts';

/** Siblings, with the chosen job among them. */
export const SIBLINGS_SHOWN = 7;
export const CHILDREN_SHOWN = 9;

export type Role = 'parent' | 'sibling' | 'chosen' | 'child';

/** How a job came to the host where it is. */
export type Bond = 'spawned' | 'stolen' | 'adopted' | 'reused';

export interface Neighbour {
  place: number;
  role: Role;
}

export interface Neighbourhood {
  /** Column by column: the parent, siblings in their order, children in theirs. */
  jobs: Neighbour[];
  /** How many siblings there are, the chosen job not counted. */
  siblings: { shown: number; count: number };
  children: { shown: number; count: number };
  /** Of all children and of the chosen job itself: which host took how many from which, most first. */
  steals: { thief: string; victim: string; count: number }[];
}

/** Jobs run where they were spawned, or else were taken from there. */
export function bond(tree: Tree, place: number): Bond {
  const state = tree.stateOf(place);
  if (state === 'reused' || state === 'adopted') return state;
  const above = tree.parent[place];
  return above < tree.length && tree.host[above] !== tree.host[place] ? 'stolen' : 'spawned';
}

export function neighbourhood(tree: Tree, layout: Layout, place: number): Neighbourhood {
  const inOrder = (places: number[]) => places.toSorted((a, b) => layout.position[a] - layout.position[b]);
  const above = layout.path(place).at(-2) ?? NOBODY;
  const siblings = layout.widest(above, SIBLINGS_SHOWN, place);
  const children = layout.widest(place, CHILDREN_SHOWN);
  const jobs: Neighbour[] = above === NOBODY ? [] : [{ place: above, role: 'parent' }];
  for (const one of inOrder(siblings.places)) jobs.push({ place: one, role: one === place ? 'chosen' : 'sibling' });
  for (const one of inOrder(children.places)) jobs.push({ place: one, role: 'child' });
  return {
    jobs,
    siblings: { shown: siblings.places.length - 1, count: siblings.count - 1 },
    children: { shown: children.places.length, count: children.count },
    steals: steals(tree, layout, place),
  };
}

function steals(tree: Tree, layout: Layout, place: number): Neighbourhood['steals'] {
  const counts = new Map<string, { thief: string; victim: string; count: number }>();
  const add = (one: number) => {
    if (bond(tree, one) !== 'stolen') return;
    const [thief, victim] = [tree.host[one], tree.host[tree.parent[one]]];
    const known = counts.get(`${thief} ${victim}`);
    if (known) known.count += 1;
    else counts.set(`${thief} ${victim}`, { thief: tree.hostName(one), victim: tree.hostName(tree.parent[one]), count: 1 });
  };
  add(place);
  for (const child of layout.childrenOf(place)) add(child);
  return [...counts.values()].toSorted((a, b) => b.count - a.count);
}

/** A job's box, and the box that its link comes from. */
export interface Box extends Neighbour {
  x: number;
  y: number;
  width: number;
  /** The line from its parent's box to its own; none where no parent is drawn. */
  link: string;
}

export const BOX_PX = 40;
const GAP_PX = 8;
const COLUMN_GAP_PX = 56;
const INDENT_PX = 22;
/** Where three columns have no room, all jobs stand in one, set in as deep as they are. */
const COLUMNS_PX_MIN = 560;
const BOX_WIDTH_PX_MAX = 300;

/** Where all of them are drawn, and how high that is. */
export function drawn(jobs: Neighbour[], widthPx: number): { boxes: Box[]; heightPx: number } {
  return widthPx < COLUMNS_PX_MIN ? inOneColumn(jobs, widthPx) : inColumns(jobs, widthPx);
}

const columnOf = (role: Role) => (role === 'parent' ? 0 : role === 'child' ? 2 : 1);

function inColumns(jobs: Neighbour[], widthPx: number): { boxes: Box[]; heightPx: number } {
  const width = Math.min(BOX_WIDTH_PX_MAX, (widthPx - 2 * COLUMN_GAP_PX) / 3);
  const columns = [0, 1, 2].map((column) => jobs.filter((job) => columnOf(job.role) === column));
  const rows = Math.max(...columns.map((column) => column.length));
  const heightPx = rows * (BOX_PX + GAP_PX) - GAP_PX;
  const boxes = columns.flatMap((column, at) => {
    const top = (heightPx - column.length * (BOX_PX + GAP_PX) + GAP_PX) / 2;
    return column.map((job, row): Box => ({ ...job, x: at * (width + COLUMN_GAP_PX), y: top + row * (BOX_PX + GAP_PX), width, link: '' }));
  });
  return linked(boxes, heightPx, (from, to) => {
    const [x, y, end, endY] = [from.x + width, from.y + BOX_PX / 2, to.x, to.y + BOX_PX / 2];
    return `M${x} ${y}C${x + COLUMN_GAP_PX / 2} ${y} ${end - COLUMN_GAP_PX / 2} ${endY} ${end} ${endY}`;
  });
}

function inOneColumn(jobs: Neighbour[], widthPx: number): { boxes: Box[]; heightPx: number } {
  const chosen = jobs.findIndex((job) => job.role === 'chosen');
  const children = jobs.filter((job) => job.role === 'child');
  const others = jobs.filter((job) => job.role !== 'child');
  // Children stand below their parent, before its younger siblings.
  const all = [...others.slice(0, chosen + 1), ...children, ...others.slice(chosen + 1)];
  const boxes = all.map((job, row): Box => {
    const x = columnOf(job.role) * INDENT_PX;
    return { ...job, x, y: row * (BOX_PX + GAP_PX), width: widthPx - x, link: '' };
  });
  return linked(boxes, all.length * (BOX_PX + GAP_PX) - GAP_PX, (from, to) => {
    const x = from.x + INDENT_PX / 2;
    return `M${x} ${from.y + BOX_PX}V${to.y + BOX_PX / 2}H${to.x}`;
  });
}

function linked(boxes: Box[], heightPx: number, line: (from: Box, to: Box) => string): { boxes: Box[]; heightPx: number } {
  const parent = boxes.find((box) => box.role === 'parent');
  const chosen = boxes.find((box) => box.role === 'chosen');
  for (const box of boxes) {
    const from = box.role === 'child' ? chosen : box.role === 'parent' ? undefined : parent;
    if (from) box.link = line(from, box);
  }
  return { boxes, heightPx };
}
