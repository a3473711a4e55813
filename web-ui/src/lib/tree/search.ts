/** Jobs by the beginning of their tag, or by a part of their function's name. */

import { ROOT_KIND, UNKNOWN, type Tree } from './columns.ts';

export interface Found {
  places: number[];
  /** How many there are; `places` may be fewer. */
  count: number;
}

export function search(tree: Tree, words: string, limit: number): Found {
  const text = words.trim().toLowerCase();
  const found: Found = { places: [], count: 0 };
  if (text === '') return found;
  const kinds = new Set<number>();
  tree.tables.kinds.forEach((name, kind) => {
    if (name.toLowerCase().includes(text)) kinds.add(kind);
  });
  const isRootNamed = tree.tables.entry_point.toLowerCase().includes(text);
  const isTag = /^[0-9a-f]{4,16}$/.test(text);
  const high = isTag ? range(text.slice(0, 8)) : null;
  const low = isTag && text.length > 8 ? range(text.slice(8)) : null;
  for (let place = 0; place < tree.length; place += 1) {
    if (tree.state[place] === UNKNOWN) continue;
    const kind = tree.kind[place];
    const named = kinds.has(kind) || (isRootNamed && kind === ROOT_KIND);
    const tagged =
      high !== null &&
      tree.tagHigh[place] >= high[0] &&
      tree.tagHigh[place] <= high[1] &&
      (low === null || (tree.tagLow[place] >= low[0] && tree.tagLow[place] <= low[1]));
    if (named || tagged) {
      if (found.places.length < limit) found.places.push(place);
      found.count += 1;
    }
  }
  return found;
}

/** What eight digits may be that begin with these. */
function range(digits: string): [number, number] {
  return [parseInt(digits.padEnd(8, '0'), 16), parseInt(digits.padEnd(8, 'f'), 16)];
}
