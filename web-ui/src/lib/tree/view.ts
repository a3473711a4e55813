/** Which part of a tree is looked at: a job whose subtree is the frame, a part of its width, and a top level. */

import { NOBODY, type Tree } from './columns.ts';
import type { Layout } from './layout.ts';

export const ROW_PX = 22;
/** A view is not narrower than this share of its frame. */
const SPAN_MIN = 1e-9;
/** Of a share in an address: enough for the narrowest view. */
const PART_DIGITS = 12;

export class View {
  /** The job that is the frame; `NOBODY` for the whole. */
  focus = NOBODY;
  /** Shares of the frame. */
  left = 0;
  right = 1;
  /** Levels that are scrolled out above. */
  top = 0;
  widthPx = 1;
  heightPx = 1;

  /** The frame in the layout's shares. */
  frame(layout: Layout): { x: number; width: number; level: number } {
    const at = this.focus === NOBODY ? NOBODY : layout.position[this.focus];
    if (at === NOBODY || at === undefined || at >= layout.length) return { x: 0, width: 1, level: 0 };
    return { x: layout.x[at], width: layout.width[at], level: layout.levelOf(this.focus) };
  }

  /** What is seen, in the layout's shares; the level of the first row. */
  seen(layout: Layout): { left: number; right: number; level: number } {
    const frame = this.frame(layout);
    return {
      left: frame.x + this.left * frame.width,
      right: frame.x + this.right * frame.width,
      level: frame.level + this.top,
    };
  }

  /** By `factor` closer (or, below 1, farther), with what is at `px` staying there. */
  zoom(factor: number, px: number): void {
    const span = this.right - this.left;
    const wanted = Math.min(1, Math.max(SPAN_MIN, span / factor));
    const share = px / this.widthPx;
    const fixed = this.left + share * span;
    this.#set(fixed - share * wanted, wanted);
  }

  panX(px: number): void {
    const span = this.right - this.left;
    this.#set(this.left + (px / this.widthPx) * span, span);
  }

  panRows(rows: number, layout: Layout): void {
    const levels = layout.depth - this.frame(layout).level;
    const fitting = Math.max(1, Math.floor(this.heightPx / ROW_PX));
    this.top = Math.max(0, Math.min(this.top + rows, levels - fitting));
  }

  /** Whether all levels fit, so that there is nothing to scroll. */
  fits(layout: Layout): boolean {
    return (layout.depth - this.frame(layout).level) * ROW_PX <= this.heightPx;
  }

  #set(left: number, span: number): void {
    this.left = Math.max(0, Math.min(left, 1 - span));
    this.right = Math.min(1, this.left + span);
  }

  /** The part of the frame that is seen, for an address; null for all of it. */
  get part(): string | null {
    const digits = (share: number) => String(Number(share.toPrecision(PART_DIGITS)));
    return this.left === 0 && this.right === 1 ? null : `${digits(this.left)}-${digits(this.right)}`;
  }

  /** What is not part of a frame changes nothing. */
  set part(part: string | null) {
    const [, left, right] = (part ?? '0-1').match(/^([\d.]+(?:e-\d+)?)-([\d.]+(?:e-\d+)?)$/) ?? [];
    // The narrowest view may be a trace narrower, once it is written.
    if (!(Number(left) >= 0 && Number(right) <= 1 && Number(right) - Number(left) >= SPAN_MIN / 2)) return;
    this.left = Number(left);
    this.right = Number(right);
  }

  /** All of `place`'s subtree. */
  focusOn(place: number): void {
    this.focus = place;
    this.left = 0;
    this.right = 1;
    this.top = 0;
  }

  /** The job under a pixel, or `NOBODY`. */
  hit(layout: Layout, xPx: number, yPx: number): number {
    const seen = this.seen(layout);
    const level = seen.level + Math.floor(yPx / ROW_PX);
    return layout.at(level, seen.left + (xPx / this.widthPx) * (seen.right - seen.left));
  }

  /** Where a job is on the canvas. */
  box(layout: Layout, place: number): { x: number; y: number; width: number } | null {
    const at = layout.position[place];
    if (at === undefined || at === NOBODY || at >= layout.length) return null;
    const seen = this.seen(layout);
    const scale = this.widthPx / (seen.right - seen.left);
    return {
      x: (layout.x[at] - seen.left) * scale,
      y: (layout.levelOf(place) - seen.level) * ROW_PX,
      width: layout.width[at] * scale,
    };
  }

  /** Moves as little as brings a job into sight. */
  reveal(tree: Tree, layout: Layout, place: number): void {
    if (this.focus !== NOBODY && !layout.path(place).includes(this.focus)) this.focusOn(NOBODY);
    const frame = this.frame(layout);
    const at = layout.position[place];
    if (at === undefined || at === NOBODY || frame.width <= 0 || tree.length === 0) return;
    const left = (layout.x[at] - frame.x) / frame.width;
    const width = layout.width[at] / frame.width;
    const span = this.right - this.left;
    if (width > span || width < span / this.widthPx * 8) {
      const wanted = Math.min(1, Math.max(SPAN_MIN, width * 1.5));
      this.#set(left + width / 2 - wanted / 2, wanted);
    } else if (left < this.left) {
      this.#set(left, span);
    } else if (left + width > this.right) {
      this.#set(left + width - span, span);
    }
    const row = layout.levelOf(place) - frame.level;
    const rows = Math.max(1, Math.floor(this.heightPx / ROW_PX));
    if (row < this.top) this.top = Math.max(0, row);
    else if (row >= this.top + rows) this.top = row - rows + 1;
  }
}
