/** Colours and patterns of canvases, read from the style sheet, so that there is one place for both themes. */

import { STATES } from './tree/columns.ts';

export const ACTIVITIES = ['work', 'steal', 'wait'] as const;
export type Activity = (typeof ACTIVITIES)[number];

export interface Paint {
  fill: string;
  /** Over the fill; null for a plain one. */
  pattern: CanvasPattern | null;
}

export interface Palette {
  states: Paint[];
  /** Of hosts, in turn. */
  hosts: string[];
  activities: Paint[];
  away: Paint;
  text: string;
  muted: string;
  bad: string;
  surface: string;
  line: string;
  select: string;
  found: string;
  redone: string;
  font: string;
}

type Motif = 'none' | 'rising' | 'falling' | 'crossed' | 'lying' | 'standing' | 'dotted' | 'sparse';

const STATE_MOTIFS: Motif[] = ['rising', 'none', 'crossed', 'lying', 'dotted', 'standing', 'falling', 'sparse'];
const ACTIVITY_MOTIFS: Motif[] = ['none', 'rising', 'dotted'];
const TILE = 8;
export const HOST_COLOURS = 8;

let cached: { key: string; palette: Palette } | null = null;

/** The palette of the theme that shows now. `key` names the theme and its version. */
export function palette(key: string): Palette {
  if (cached?.key === key) return cached.palette;
  const probe = document.createElement('span');
  probe.hidden = true;
  document.body.append(probe);
  const colour = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const ink = colour('ink');
  const paint = (name: string, motif: Motif): Paint => ({ fill: colour(name), pattern: pattern(motif, ink) });
  const made: Palette = {
    states: STATES.map((state, at) => paint(`state-${state.replace(' ', '-')}`, STATE_MOTIFS[at])),
    hosts: Array.from({ length: HOST_COLOURS }, (_, at) => colour(`host-${at}`)),
    activities: ACTIVITIES.map((activity, at) => paint(`act-${activity}`, ACTIVITY_MOTIFS[at])),
    away: { fill: colour('sunken'), pattern: pattern('sparse', colour('line-strong')) },
    text: colour('cell-text'),
    muted: colour('muted'),
    bad: colour('bad'),
    surface: colour('surface'),
    line: colour('line'),
    select: colour('text'),
    found: colour('found'),
    redone: colour('redone'),
    font: getComputedStyle(document.body).fontFamily,
  };
  probe.remove();
  cached = { key, palette: made };
  return made;
}

/** A tile of lines or dots. */
function pattern(motif: Motif, ink: string): CanvasPattern | null {
  if (motif === 'none') return null;
  const tile = document.createElement('canvas');
  tile.width = tile.height = TILE;
  const context = tile.getContext('2d');
  if (!context) return null;
  context.strokeStyle = context.fillStyle = ink;
  context.lineWidth = 1.4;
  const line = (x0: number, y0: number, x1: number, y1: number) => {
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
  };
  // Over the edges, so that tiles meet.
  const rising = () => [-TILE, 0, TILE].forEach((by) => line(by - 1, TILE + 1, by + TILE + 1, -1));
  const falling = () => [-TILE, 0, TILE].forEach((by) => line(by - 1, -1, by + TILE + 1, TILE + 1));
  switch (motif) {
    case 'rising':
      rising();
      break;
    case 'falling':
      falling();
      break;
    case 'crossed':
      rising();
      falling();
      break;
    case 'lying':
      line(0, 2, TILE, 2);
      line(0, 6, TILE, 6);
      break;
    case 'standing':
      line(2, 0, 2, TILE);
      line(6, 0, 6, TILE);
      break;
    case 'dotted':
      context.fillRect(1, 1, 2, 2);
      context.fillRect(5, 5, 2, 2);
      break;
    case 'sparse':
      context.fillRect(1, 1, 1, 1);
      context.fillRect(5, 5, 1, 1);
      break;
  }
  return context.createPattern(tile, 'repeat');
}

/** A rectangle as a legend shows it. */
export function swatch(context: CanvasRenderingContext2D, paint: Paint, width: number, height: number): void {
  context.fillStyle = paint.fill;
  context.fillRect(0, 0, width, height);
  if (paint.pattern) {
    context.fillStyle = paint.pattern;
    context.fillRect(0, 0, width, height);
  }
}
