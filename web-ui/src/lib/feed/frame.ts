/** Binary frames of a run's tree, little endian: a header, tables as JSON, records of 48 bytes. */

import type { TreeTables } from '../types.ts';

const MAGIC = 0x4552_5453; // "STRE"
const VERSION = 1;
const HEADER_BYTES = 24;
export const RECORD_BYTES = 48;
/** No frame has more. */
export const RECORDS_MAX = 16_384;
/** No tree has more jobs. */
export const PLACES_MAX = 1 << 20;
export const NOBODY = 0xffff_ffff;

export type FrameKind = 'part' | 'last' | 'delta';

export interface TreeFrame {
  run: number;
  kind: FrameKind;
  seq: number;
  /** Without hosts and kinds, if those are as before. */
  tables: Partial<TreeTables>;
  /** Where the records are. */
  records: DataView;
  count: number;
}

/** A frame that is not as it should be. */
export class BadFrame extends Error {}

const KINDS: FrameKind[] = ['part', 'last', 'delta'];
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads a frame, all of whose records are then in bounds. Throws [`BadFrame`] for anything odd. */
export function parseFrame(bytes: ArrayBuffer): TreeFrame {
  if (bytes.byteLength < HEADER_BYTES + 4) throw new BadFrame(`${bytes.byteLength} bytes are not a frame`);
  const view = new DataView(bytes);
  if (view.getUint32(0, true) !== MAGIC) throw new BadFrame('not a tree’s frame');
  const version = view.getUint8(4);
  if (version !== VERSION) {
    throw new BadFrame(`frames of version ${version}; load the page again`);
  }
  const kind = KINDS[view.getUint8(5)];
  if (kind === undefined) throw new BadFrame(`a frame of kind ${view.getUint8(5)}`);
  const seq = view.getUint32(8, true);
  const count = view.getUint32(12, true);
  const run = Number(view.getBigUint64(16, true));
  const tableBytes = view.getUint32(HEADER_BYTES, true);
  const begin = HEADER_BYTES + 4;
  const first = (begin + tableBytes + 7) & ~7;
  if (count > RECORDS_MAX || tableBytes > bytes.byteLength || first + count * RECORD_BYTES !== bytes.byteLength) {
    throw new BadFrame(`a frame of ${bytes.byteLength} bytes is broken`);
  }
  const tables = parseTables(new Uint8Array(bytes, begin, tableBytes));
  return { run, kind, seq, tables, records: new DataView(bytes, first), count };
}

function parseTables(bytes: Uint8Array): Partial<TreeTables> {
  let json: unknown;
  try {
    json = JSON.parse(utf8.decode(bytes));
  } catch {
    throw new BadFrame('tables that are not JSON');
  }
  if (typeof json !== 'object' || json === null) throw new BadFrame('tables that are not an object');
  const from = json as { [name: string]: unknown };
  const tables: Partial<TreeTables> = {};
  for (const name of ['shown', 'total', 'left_out'] as const) {
    if (Number.isFinite(from[name])) tables[name] = from[name] as number;
  }
  if (typeof from.entry_point === 'string') tables.entry_point = from.entry_point;
  if (Array.isArray(from.kinds)) tables.kinds = from.kinds.map(text);
  if (Array.isArray(from.hosts)) {
    tables.hosts = from.hosts.map((host: { [name: string]: unknown } | null) => ({
      id: text(host?.id),
      name: text(host?.name),
      site: text(host?.site),
    }));
  }
  return tables;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
