/** Jobs in words. */

import { plural, seconds } from '../format.ts';
import { REDONE, type Tree } from './columns.ts';
import type { Layout } from './layout.ts';
import { bond } from './neighbours.ts';

/** In what state a job is, and where: as much as there is room for in a box. */
export function whereabouts(tree: Tree, place: number): string {
  const redone = tree.flags[place] & REDONE ? ', redone' : '';
  const how = bond(tree, place) === 'stolen' ? `, stolen from ${tree.hostName(tree.parent[place])}` : '';
  return `${tree.stateOf(place)}${redone} on ${tree.hostName(place)}${how}`;
}

/** All that a tree knows of a job. */
export function describe(tree: Tree, layout: Layout, place: number): string {
  const work = Number.isNaN(tree.workUs[place]) ? '' : `, ${seconds(tree.workUs[place] / 1e6)} of work`;
  return `${tree.functionOf(place)}, ${whereabouts(tree, place)}${work}, ${plural(layout.widest(place, 0).count, 'child', 'children')}`;
}
