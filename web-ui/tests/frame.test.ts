import { describe, expect, it } from 'vitest';

import { frame, grow } from '../e2e/synthetic/tree.ts';
import { BadFrame, parseFrame } from '../src/lib/feed/frame.ts';
import { Tree } from '../src/lib/tree/columns.ts';

const TABLES = { hosts: [{ id: 'h1', name: 'ada', site: 's' }], kinds: ['f'], shown: 3, total: 5, left_out: 2, entry_point: 'main' };
const good = () => frame(42, 1, 0, TABLES, grow(3, 1, 0), [0, 1, 2]);

function changed(offset: number, value: number): ArrayBuffer {
  const bytes = good();
  new DataView(bytes).setUint8(offset, value);
  return bytes;
}

describe('a frame of a tree', () => {
  it('is read as it was written', () => {
    const read = parseFrame(good());
    expect(read).toMatchObject({ run: 42, kind: 'last', seq: 0, count: 3, tables: TABLES });
    const tree = new Tree();
    tree.apply(read);
    expect([tree.known, tree.isWhole, tree.functionOf(0), tree.functionOf(1), tree.hostName(1)]).toEqual([3, true, 'main', 'job kind 1', 'ada']);
    expect(tree.tag(0)).toMatch(/^[0-9a-f]{16}$/);
    expect(tree.find(tree.tag(2))).toBe(2);
  });

  it('is refused wherever it is cut', () => {
    const bytes = good();
    for (let length = 0; length < bytes.byteLength; length += 1) {
      expect(() => parseFrame(bytes.slice(0, length)), `${length} bytes`).toThrow(BadFrame);
    }
    const longer = new Uint8Array(bytes.byteLength + 1);
    longer.set(new Uint8Array(bytes));
    expect(() => parseFrame(longer.buffer)).toThrow(BadFrame);
  });

  it('is refused with another magic, version or kind', () => {
    for (const bytes of [changed(0, 0), changed(4, 2), changed(5, 3)]) expect(() => parseFrame(bytes)).toThrow(BadFrame);
  });

  it('is refused when it says that it has more than it has', () => {
    for (const offset of [12, 13, 14, 15, 24, 27]) expect(() => parseFrame(changed(offset, 0xfe))).toThrow(BadFrame);
  });

  it('is refused when its tables are none', () => {
    expect(() => parseFrame(changed(28, 0xff))).toThrow(BadFrame);
    for (const tables of [null, 7, '[]']) expect(() => parseFrame(frame(1, 1, 0, tables as unknown as object, grow(1, 1, 0), [0]))).toThrow(BadFrame);
  });

  it('takes of its tables only what is as it should be', () => {
    const odd = { hosts: [null, { id: 7, name: ['x'] }], kinds: [1, 'f'], shown: '3', total: Number.NaN, entry_point: {} };
    const read = parseFrame(frame(1, 1, 0, odd, grow(1, 1, 0), [0]));
    expect(read.tables).toEqual({ hosts: [{ id: '', name: '', site: '' }, { id: '', name: '', site: '' }], kinds: ['', 'f'] });
  });

  it('has no say over places that no tree has', () => {
    const bytes = good();
    const read = parseFrame(bytes);
    read.records.setUint32(0, 0xffff_fff0, true);
    expect(() => new Tree().apply(read)).toThrow(BadFrame);
  });

  it('keeps what the tables said before, and counts each job once', () => {
    const tree = new Tree();
    const grown = grow(50, 1, 0);
    const places = Array.from({ length: 50 }, (_, place) => place);
    tree.apply(parseFrame(frame(1, 1, 0, TABLES, grown, places)));
    grown.state[7] = 2;
    tree.apply(parseFrame(frame(1, 2, 1, { shown: 50 }, grown, [7, 7])));
    expect([tree.known, tree.tables.kinds, tree.tables.shown, tree.stateOf(7)]).toEqual([50, ['f'], 50, 'failed']);
    expect([...tree.counts].reduce((sum, jobs) => sum + jobs)).toBe(50);
    tree.apply(parseFrame(frame(1, 1, 0, {}, grown, [0])));
    expect(tree.known).toBe(1);
  });
});
