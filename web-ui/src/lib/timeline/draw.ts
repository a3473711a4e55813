/** Draws workers over time: each bucket a column, in which activities stand one above the other. */

import { ACTIVITIES, type Palette } from '../palette.ts';
import type { TimelineRow, TimelineValue } from '../types.ts';
import type { Placed } from '../marks.ts';
import { ROW_GAP_PX, ROW_PX, type Window } from './model.ts';

export interface Chosen {
  row: number;
  bucket: number;
}

export function draw(
  context: CanvasRenderingContext2D,
  palette: Palette,
  value: TimelineValue,
  rows: TimelineRow[],
  window: Window,
  /** Where the axis has its marks. */
  marksPx: number[],
  /** Hosts that came and went, and what was lost. */
  events: Placed[],
  chosen: Chosen | null,
  /** Pixels of the screen in one of the page. */
  scale: number,
): void {
  const { widthPx, heightPx } = window;
  context.clearRect(0, 0, widthPx, heightPx);
  // Buckets that fall into one pixel are drawn as their mean; always the same ones together.
  const bucketPx = (widthPx * value.bucket_ms) / (window.toMs - window.fromMs);
  const perColumn = Math.max(1, Math.floor(1 / bucketPx));
  const leftmost = Math.max(0, Math.floor((window.fromMs - value.from_ms) / value.bucket_ms));
  const first = leftmost - (leftmost % perColumn);
  const end = Math.ceil((window.toMs - value.from_ms) / value.bucket_ms);
  const from = Math.floor(window.topPx / ROW_PX);
  const to = Math.min(rows.length, Math.ceil((window.topPx + heightPx) / ROW_PX));
  const barPx = ROW_PX - ROW_GAP_PX;

  context.fillStyle = palette.line;
  for (const x of marksPx) context.fillRect(Math.round(x), 0, 1, heightPx);
  const snap = (x: number) => Math.round(x * scale) / scale;
  const bars: number[][] = ACTIVITIES.map(() => []);
  const away: number[] = [];
  for (let at = from; at < to; at += 1) {
    const row = rows[at];
    const bottom = at * ROW_PX - window.topPx + ROW_PX;
    context.fillRect(0, bottom - 1, widthPx, 1);
    for (let bucket = first; bucket < end; bucket += perColumn) {
      // On whole pixels, or seams would show between columns.
      const x = snap(window.x(value.from_ms + bucket * value.bucket_ms));
      const width = snap(window.x(value.from_ms + (bucket + perColumn) * value.bucket_ms)) - x;
      const until = Math.min(bucket + perColumn, row.work.length);
      let known = 0;
      const sums = ACTIVITIES.map(() => 0);
      for (let one = bucket; one < until; one += 1) {
        if (row.work[one] === null) continue;
        known += 1;
        for (let activity = 0; activity < sums.length; activity += 1) sums[activity] += row[ACTIVITIES[activity]][one] ?? 0;
      }
      if (known === 0) {
        extend(away, x, bottom - barPx, width, barPx);
        continue;
      }
      let y = bottom;
      for (let activity = 0; activity < sums.length; activity += 1) {
        const height = Math.min(1, sums[activity] / known) * barPx;
        if (height <= 0) continue;
        y -= height;
        extend(bars[activity], x, y, width, height);
      }
    }
  }
  const fill = (style: string | CanvasPattern, boxes: number[]) => {
    context.fillStyle = style;
    for (let at = 0; at < boxes.length; at += 4) context.fillRect(boxes[at], boxes[at + 1], boxes[at + 2], boxes[at + 3]);
  };
  bars.forEach((boxes, activity) => {
    fill(palette.activities[activity].fill, boxes);
    const { pattern } = palette.activities[activity];
    if (pattern) fill(pattern, boxes);
  });
  if (palette.away.pattern) fill(palette.away.pattern, away);
  for (const event of events) {
    context.fillStyle = event.isBad ? palette.bad : palette.muted;
    context.fillRect(Math.round(event.x), 0, 1, heightPx);
  }
  if (chosen && chosen.row < rows.length) {
    const x = window.x(value.from_ms + chosen.bucket * value.bucket_ms);
    const width = Math.max(3, window.x(value.from_ms + (chosen.bucket + 1) * value.bucket_ms) - x);
    context.strokeStyle = palette.select;
    context.lineWidth = 2;
    context.strokeRect(x, chosen.row * ROW_PX - window.topPx + 1, width, ROW_PX - 2);
  }
}

/** Adds a box, or makes the last one longer, if this one begins where it ends. */
function extend(boxes: number[], x: number, y: number, width: number, height: number): void {
  const last = boxes.length - 4;
  const goesOn =
    last >= 0 &&
    boxes[last + 1] === y &&
    boxes[last + 3] === height &&
    Math.abs(boxes[last] + boxes[last + 2] - x) < 0.01;
  if (goesOn) boxes[last + 2] = x + width - boxes[last];
  else boxes.push(x, y, width, height);
}
