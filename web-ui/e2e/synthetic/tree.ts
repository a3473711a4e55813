/** Trees that were never run, as the coordinator would feed them: of any size, and always the same ones. */

const HEADER_BYTES = 24;
const RECORD_BYTES = 48;
const PART = 16_384;
const NOBODY = 0xffff_ffff;

export const KINDS = ['queens_below', 'place', 'count_left', 'count_right', 'combine_the_boards'];

export interface Synthetic {
  jobs: number;
  parent: Uint32Array;
  state: Uint8Array;
  flags: Uint8Array;
  begun: Uint32Array;
  ended: Uint32Array;
  workUs: Float64Array;
  depth: Uint16Array;
  host: Uint16Array;
  kind: Uint16Array;
}

/** Numbers from 0 to 1, from a seed. */
export function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A tree of this many jobs, of which a share is still running, and some were lost with a host and done again. */
export function grow(jobs: number, hosts: number, runningShare: number, seed = 7): Synthetic {
  const random = dice(seed);
  const tree: Synthetic = {
    jobs,
    parent: new Uint32Array(jobs).fill(NOBODY),
    state: new Uint8Array(jobs).fill(1),
    flags: new Uint8Array(jobs),
    begun: new Uint32Array(jobs),
    ended: new Uint32Array(jobs),
    workUs: new Float64Array(jobs),
    depth: new Uint16Array(jobs),
    host: new Uint16Array(jobs),
    kind: new Uint16Array(jobs),
  };
  tree.kind[0] = 0xffff;
  // Breadth first, two to five children each, some branches much heavier than others.
  for (let place = 1, above = 0; place < jobs; above += 1) {
    const children = 2 + Math.floor(random() * random() * 4);
    for (let child = 0; child < children && place < jobs; child += 1, place += 1) {
      tree.parent[place] = above;
      tree.depth[place] = tree.depth[above] + 1;
      tree.kind[place] = tree.depth[place] % 4;
      tree.host[place] = random() < 0.7 ? tree.host[above] : Math.floor(random() * hosts);
      tree.begun[place] = tree.begun[above] + Math.floor(1 + random() * 60);
    }
  }
  for (let place = jobs - 1; place >= 0; place -= 1) {
    const isLeaf = tree.workUs[place] === 0;
    tree.workUs[place] += 200 + (isLeaf ? 40_000 * random() ** 4 : 500 * random());
    const tookMs = Math.max(1, Math.floor(tree.workUs[place] / 1000));
    tree.ended[place] = Math.max(tree.ended[place], tree.begun[place] + tookMs);
    const above = tree.parent[place];
    if (above !== NOBODY) {
      tree.workUs[above] += tree.workUs[place];
      tree.ended[above] = Math.max(tree.ended[above], tree.ended[place] + 1);
    }
  }
  for (let place = 1; place < jobs; place += 1) {
    const above = tree.parent[place];
    const luck = random();
    if (tree.flags[above] & 1) tree.flags[place] = 1;
    else if (luck < 0.004) tree.flags[place] = 1;
    if (luck > 0.9985) tree.state[place] = 2 + Math.floor(random() * 5);
    else if (tree.flags[place] && luck < 0.3) tree.state[place] = 5 + Math.floor(random() * 2);
  }
  for (let at = 0; at < jobs * runningShare; at += 1) {
    for (let place = Math.floor(random() * jobs); place !== NOBODY; place = tree.parent[place]) {
      if (tree.state[place] === 0) break;
      run(tree, place);
    }
  }
  return tree;
}

/** `place` continues. */
export function run(tree: Synthetic, place: number): void {
  tree.state[place] = 0;
  tree.ended[place] = NOBODY;
  tree.workUs[place] = Number.NaN;
}

/** Odd, so that products with it are told apart, and so is its inverse. */
const FACTOR = 0x9e37_79b1;
const OTHER_FACTOR = 0x85eb_ca6b;
const INVERSE = [1, 2, 3, 4, 5].reduce((inverse) => Math.imul(inverse, 2 - Math.imul(FACTOR, inverse)), FACTOR);

/** The halves of a job's tag. Cheap: there are a million of them. */
function halves(seed: number, place: number): [high: number, low: number] {
  return [(Math.imul(place + 1, OTHER_FACTOR) ^ seed) >>> 0, (Math.imul(place + 1, FACTOR) ^ seed) >>> 0];
}

/** 16 digits. */
export function tag(seed: number, place: number): string {
  return halves(seed, place).map((half) => half.toString(16).padStart(8, '0')).join('');
}

/** The place of the job with this tag; of any other tag, none that has it. */
export function placeOf(seed: number, tag: string): number {
  return (Math.imul(parseInt(tag.slice(8), 16) ^ seed, INVERSE) - 1) >>> 0;
}

/** A frame with the jobs at these places. */
export function frame(
  run: number,
  kind: 0 | 1 | 2,
  seq: number,
  tables: object,
  tree: Synthetic,
  places: ArrayLike<number>,
): ArrayBuffer {
  const json = new TextEncoder().encode(JSON.stringify(tables));
  const first = (HEADER_BYTES + 4 + json.length + 7) & ~7;
  const bytes = new ArrayBuffer(first + places.length * RECORD_BYTES);
  const view = new DataView(bytes);
  new Uint8Array(bytes).set(new TextEncoder().encode('STRE'));
  view.setUint8(4, 1);
  view.setUint8(5, kind);
  view.setUint32(8, seq, true);
  view.setUint32(12, places.length, true);
  view.setBigUint64(16, BigInt(run), true);
  view.setUint32(HEADER_BYTES, json.length, true);
  new Uint8Array(bytes).set(json, HEADER_BYTES + 4);
  for (let record = 0, at = first; record < places.length; record += 1, at += RECORD_BYTES) {
    const place = places[record];
    view.setUint32(at, place, true);
    view.setUint32(at + 4, tree.parent[place], true);
    const [high, low] = halves(run, place);
    view.setUint32(at + 8, low, true);
    view.setUint32(at + 12, high, true);
    view.setUint32(at + 16, tree.begun[place], true);
    view.setUint32(at + 20, tree.ended[place], true);
    view.setFloat64(at + 24, tree.workUs[place], true);
    view.setUint32(at + 32, tree.host[place], true);
    view.setUint16(at + 36, tree.kind[place], true);
    view.setUint16(at + 38, tree.depth[place], true);
    view.setUint8(at + 40, tree.state[place]);
    view.setUint8(at + 41, tree.flags[place] | 2);
    view.setUint16(at + 42, place % 8, true);
    view.setUint32(at + 44, 0, true);
  }
  return bytes;
}

/** The snapshot of the first `known` jobs. */
export function* snapshot(run: number, tables: object, tree: Synthetic, known: number): Generator<ArrayBuffer> {
  let seq = 0;
  for (let begin = 0; begin === 0 || begin < known; begin += PART) {
    const end = Math.min(known, begin + PART);
    const places = Uint32Array.from({ length: end - begin }, (_, at) => begin + at);
    yield frame(run, end >= known ? 1 : 0, seq, seq === 0 ? tables : {}, tree, places);
    seq += 1;
  }
}
