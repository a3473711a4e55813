/** Mouse, pen and fingers on a canvas: panning, zooming, choosing. Keys are the component's. */

export interface Gestures {
  /** Moved by this number of pixels. */
  pan(dx: number, dy: number): void;
  /** Closer by a factor, around a point. */
  zoom(factor: number, x: number, y: number): void;
  tap(x: number, y: number): void;
  doubleTap(x: number, y: number): void;
  /** The pointer is over a point; null when it has left. */
  hover(x: number | null, y: number | null): void;
  /** Whether a gesture is under way. */
  busy?(isBusy: boolean): void;
}

/** By a key or a button. */
export const ZOOM_STEP = 1.6;
const TAP_PX_MAX = 5;
const DOUBLE_TAP_MS_MAX = 350;
const WHEEL_LINE_PX = 16;
const ZOOM_PER_PX = 1.0025;

export function gestures(canvas: HTMLElement, to: Gestures): () => void {
  const pointers = new Map<number, { x: number; y: number }>();
  let moved = 0;
  let lastTap = { at: -Infinity, x: 0, y: 0 };
  let calm: ReturnType<typeof setTimeout> | undefined;

  const point = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const ends = new AbortController();
  const on = <K extends keyof HTMLElementEventMap>(
    name: K,
    what: (event: HTMLElementEventMap[K]) => void,
    options: AddEventListenerOptions = {},
  ) => canvas.addEventListener(name, what, { ...options, signal: ends.signal });

  on('pointerdown', (event) => {
    if (event.button !== 0) return;
    if (pointers.size === 0) moved = 0;
    pointers.set(event.pointerId, point(event));
    canvas.setPointerCapture(event.pointerId);
    to.busy?.(true);
  });
  on('pointermove', (event) => {
    const here = point(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== 'touch') to.hover(here.x, here.y);
      return;
    }
    const others = [...pointers].filter(([id]) => id !== event.pointerId);
    if (others.length === 0) {
      moved += Math.abs(here.x - before.x) + Math.abs(here.y - before.y);
      if (moved > TAP_PX_MAX) to.pan(before.x - here.x, before.y - here.y);
    } else {
      const other = others[0][1];
      const gap = Math.max(10, Math.hypot(before.x - other.x, before.y - other.y));
      const wider = Math.max(10, Math.hypot(here.x - other.x, here.y - other.y));
      moved = Infinity;
      to.pan((before.x - here.x) / 2, (before.y - here.y) / 2);
      to.zoom(wider / gap, (here.x + other.x) / 2, (here.y + other.y) / 2);
    }
    pointers.set(event.pointerId, here);
  });
  const up = (event: PointerEvent) => {
    if (!pointers.delete(event.pointerId)) return;
    if (pointers.size === 0) to.busy?.(false);
    if (event.type !== 'pointerup' || moved > TAP_PX_MAX) return;
    const here = point(event);
    const isDouble =
      event.timeStamp - lastTap.at < DOUBLE_TAP_MS_MAX && Math.hypot(here.x - lastTap.x, here.y - lastTap.y) < 20;
    lastTap = isDouble ? { at: -Infinity, x: 0, y: 0 } : { at: event.timeStamp, ...here };
    if (isDouble) to.doubleTap(here.x, here.y);
    else to.tap(here.x, here.y);
  };
  on('pointerup', up);
  on('pointercancel', up);
  on('pointerleave', () => to.hover(null, null));
  on(
    'wheel',
    (event) => {
      event.preventDefault();
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? WHEEL_LINE_PX : 1;
      const here = point(event);
      to.busy?.(true);
      clearTimeout(calm);
      calm = setTimeout(() => to.busy?.(pointers.size > 0), 200);
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        to.pan((event.deltaX || event.deltaY) * unit, 0);
      } else if (event.altKey) {
        to.pan(0, event.deltaY * unit);
      } else {
        to.zoom(ZOOM_PER_PX ** (-event.deltaY * unit * (event.ctrlKey ? 3 : 1)), here.x, here.y);
      }
    },
    { passive: false },
  );
  return () => {
    clearTimeout(calm);
    ends.abort();
  };
}
