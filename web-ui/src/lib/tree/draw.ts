/** Draws the part of a tree that is seen. What is narrower than a pixel is drawn as strips of how full they are. */

import { HOST_COLOURS, type Palette } from '../palette.ts';
import { FAILED, NOBODY, REDONE, RUNNING, STATES, type Tree } from './columns.ts';
import type { Layout } from './layout.ts';
import { ROW_PX, type View } from './view.ts';

/** How full a strip may look. */
const FILLS = [0.45, 0.65, 0.85, 1];
const GAP_PX = 1;
const LABEL_PX_MIN = 34;
const DONE = 1;
const COLOURS_MAX = Math.max(STATES.length, HOST_COLOURS);

export interface Drawn {
  /** Jobs with a rectangle of their own. */
  single: number;
  /** Jobs in strips. */
  merged: number;
}

/** What a job's colour shows; its pattern shows its state in any case. */
export type Colouring = 'state' | 'host';

export interface Marks {
  selected: number;
  hovered: number;
  found: ReadonlySet<number>;
}

/** Rectangles of one style: x, y, width. */
class Bucket {
  length = 0;
  #values = new Float32Array(768);

  push(x: number, y: number, width: number): void {
    if (this.length + 3 > this.#values.length) {
      const wider = new Float32Array(2 * this.#values.length);
      wider.set(this.#values);
      this.#values = wider;
    }
    this.#values[this.length++] = x;
    this.#values[this.length++] = y;
    this.#values[this.length++] = width;
  }

  each(draw: (x: number, y: number, width: number) => void): void {
    for (let at = 0; at < this.length; at += 3) draw(this.#values[at], this.#values[at + 1], this.#values[at + 2]);
  }
}

export class Painter {
  /** By colour. */
  #singles = Array.from({ length: COLOURS_MAX }, () => new Bucket());
  /** By state. */
  #patterns = STATES.map(() => new Bucket());
  /** By colour, and by how full they are. */
  #strips = Array.from({ length: COLOURS_MAX }, () => FILLS.map(() => new Bucket()));
  #failedStrips = new Bucket();
  #redone = new Bucket();
  #colouring: Colouring = 'state';
  #labels: { text: string; x: number; y: number; width: number }[] = [];
  #textWidths = new Map<string, number>();

  draw(
    context: CanvasRenderingContext2D,
    palette: Palette,
    tree: Tree,
    layout: Layout,
    view: View,
    marks: Marks,
    colouring: Colouring = 'state',
  ): Drawn {
    const { widthPx, heightPx } = view;
    context.clearRect(0, 0, widthPx, heightPx);
    for (const bucket of [...this.#singles, ...this.#patterns, ...this.#strips.flat(), this.#failedStrips, this.#redone]) bucket.length = 0;
    this.#colouring = colouring;
    this.#labels.length = 0;
    const drawn: Drawn = { single: 0, merged: 0 };
    const seen = view.seen(layout);
    const rows = Math.ceil(heightPx / ROW_PX);
    for (let row = 0; row < rows && seen.level + row < layout.depth; row += 1) {
      this.#level(tree, layout, seen, seen.level + row, row * ROW_PX, widthPx, drawn);
    }
    this.#paint(context, palette, colouring === 'host' ? palette.hosts : palette.states.map((paint) => paint.fill));
    this.#write(context, palette);
    this.#mark(context, palette, layout, view, marks);
    return drawn;
  }

  #level(
    tree: Tree,
    layout: Layout,
    seen: { left: number; right: number },
    level: number,
    y: number,
    widthPx: number,
    drawn: Drawn,
  ): void {
    const scale = widthPx / (seen.right - seen.left);
    const end = layout.levels[level + 1];
    let at = layout.seek(level, seen.left);
    // The one before may reach into sight.
    if (at > layout.levels[level]) at -= 1;
    // The strip that is being gathered; none if its width is 0.
    const strip = { colour: 0, fill: 0, x: 0, width: 0 };
    const flush = () => {
      if (strip.width > 0) this.#strips[strip.colour][strip.fill].push(strip.x, y, strip.width);
      strip.width = 0;
    };
    while (at < end && layout.x[at] <= seen.right) {
      const x = (layout.x[at] - seen.left) * scale;
      const width = layout.width[at] * scale;
      if (x + width < 0) {
        at += 1;
        continue;
      }
      if (width >= 1) {
        flush();
        this.#single(tree, layout.order[at], x, y, width, widthPx);
        drawn.single += 1;
        at += 1;
        continue;
      }
      // All that begin in this pixel, up to the first that is wider than one.
      const pixel = Math.min(Math.max(0, Math.floor(x)), Math.ceil(widthPx) - 1);
      let next = layout.seek(level, seen.left + (pixel + 1) / scale, at);
      if (next > at + 1 && layout.width[next - 1] * scale >= 1) next -= 1;
      if (next <= at) next = at + 1;
      const share = (layout.covered[next] - layout.covered[at]) * scale;
      const fill = Math.max(0, Math.min(FILLS.length - 1, Math.ceil(share * FILLS.length) - 1));
      const state = this.#stripState(tree, layout, at, next);
      if (state === FAILED) this.#failedStrips.push(pixel, y, 1);
      const colour = this.#colouring === 'host' ? hostColour(tree, layout.order[(at + next) >> 1]) : state;
      if (strip.width > 0 && strip.colour === colour && strip.fill === fill && strip.x + strip.width === pixel) {
        strip.width += 1;
      } else {
        flush();
        Object.assign(strip, { colour, fill, x: pixel, width: 1 });
      }
      drawn.merged += next - at;
      at = next;
    }
    flush();
  }

  /** What went wrong shows first, then what runs. */
  #stripState(tree: Tree, layout: Layout, begin: number, end: number): number {
    if (end === begin + 1) return tree.state[layout.order[begin]];
    const bad = layout.badOf(begin, end);
    if (bad >= 0) return tree.state[layout.order[bad]];
    if (layout.hasRunning(begin, end)) return RUNNING;
    return DONE;
  }

  #single(tree: Tree, place: number, x: number, y: number, width: number, widthPx: number): void {
    const left = Math.max(x, -2);
    const right = Math.min(x + width, widthPx + 2);
    const shown = Math.max(1, right - left - (width >= 4 ? GAP_PX : 0));
    const state = tree.state[place];
    this.#singles[this.#colouring === 'host' ? hostColour(tree, place) : state].push(left, y, shown);
    this.#patterns[state].push(left, y, shown);
    if (tree.flags[place] & REDONE) this.#redone.push(left, y, shown);
    if (shown >= LABEL_PX_MIN) {
      const begin = Math.max(left, 0);
      this.#labels.push({ text: tree.functionOf(place), x: begin + 4, y, width: right - begin - 9 });
    }
  }

  #paint(context: CanvasRenderingContext2D, palette: Palette, colours: string[]): void {
    const fill = (bucket: Bucket, style: string | CanvasPattern) => {
      if (bucket.length === 0) return;
      context.fillStyle = style;
      bucket.each((x, y, width) => context.fillRect(x, y, width, ROW_PX - GAP_PX));
    };
    colours.forEach((colour, at) => {
      fill(this.#singles[at], colour);
      this.#strips[at].forEach((bucket, share) => {
        context.globalAlpha = FILLS[share];
        fill(bucket, colour);
        context.globalAlpha = 1;
      });
    });
    palette.states.forEach(({ pattern }, state) => {
      if (pattern) fill(this.#patterns[state], pattern);
    });
    const failed = palette.states[FAILED].pattern;
    if (failed) fill(this.#failedStrips, failed);
    context.fillStyle = palette.redone;
    this.#redone.each((x, y, width) => context.fillRect(x, y, width, 3));
  }

  #write(context: CanvasRenderingContext2D, palette: Palette): void {
    context.font = `12px ${palette.font}`;
    context.textBaseline = 'middle';
    context.fillStyle = palette.text;
    for (const label of this.#labels) {
      const text = this.#fitting(context, label.text, label.width);
      if (text !== '') context.fillText(text, label.x, label.y + ROW_PX / 2 + 0.5);
    }
  }

  /** As much of a name as there is room for. */
  #fitting(context: CanvasRenderingContext2D, text: string, width: number): string {
    let whole = this.#textWidths.get(text);
    if (whole === undefined) {
      if (this.#textWidths.size > 4096) this.#textWidths.clear();
      whole = context.measureText(text).width;
      this.#textWidths.set(text, whole);
    }
    if (whole <= width) return text;
    const letters = Math.floor((width / whole) * text.length) - 1;
    return letters >= 2 ? `${text.slice(0, letters)}…` : '';
  }

  #mark(context: CanvasRenderingContext2D, palette: Palette, layout: Layout, view: View, marks: Marks): void {
    const outline = (place: number, colour: string, lineWidth: number) => {
      const box = view.box(layout, place);
      if (!box || box.y < 0 || box.y > view.heightPx || box.x > view.widthPx || box.x + box.width < 0) return;
      const left = Math.max(box.x, -4);
      const right = Math.min(box.x + Math.max(box.width - GAP_PX, 3), view.widthPx + 4);
      context.strokeStyle = colour;
      context.lineWidth = lineWidth;
      const inset = lineWidth / 2;
      context.strokeRect(left + inset, box.y + inset, right - left - lineWidth, ROW_PX - GAP_PX - lineWidth);
    };
    for (const place of marks.found) outline(place, palette.found, 2);
    if (marks.hovered !== NOBODY && marks.hovered !== marks.selected) outline(marks.hovered, palette.muted, 1.5);
    if (marks.selected !== NOBODY) outline(marks.selected, palette.select, 2.5);
  }
}

/** Which of the hosts' colours a job has. */
export function hostColour(tree: Tree, place: number): number {
  return tree.host[place] % HOST_COLOURS;
}
