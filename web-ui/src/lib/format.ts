/** Numbers and times as people read them. */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export function count(value: number | null | undefined): string {
  return value === null || value === undefined || !Number.isFinite(value) ? '–' : whole.format(value);
}

/** Short: 1.2k, 3.4M. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size < 10) return trimmed(value, 2);
  if (size < 1000) return trimmed(value, size < 100 ? 1 : 0);
  if (size < 1e6) return `${trimmed(value / 1e3, size < 1e4 ? 2 : size < 1e5 ? 1 : 0)}k`;
  if (size < 1e9) return `${trimmed(value / 1e6, size < 1e7 ? 2 : size < 1e8 ? 1 : 0)}M`;
  return `${trimmed(value / 1e9, 1)}G`;
}

function trimmed(value: number, digits: number): string {
  return Number(value.toFixed(digits)).toString();
}

/** A span of time: 12 ms, 1.2 s, 3 min 20 s, 2 h 5 min. */
export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value < 0) return `−${seconds(-value)}`;
  if (value === 0) return '0 s';
  if (value < 0.001) return `${trimmed(value * 1e6, 0)} µs`;
  if (value < 1) return `${trimmed(value * 1e3, value < 0.01 ? 1 : 0)} ms`;
  if (value < 100) return `${trimmed(value, 1)} s`;
  if (value < 3600) {
    const all = Math.round(value);
    return all % 60 === 0 ? `${all / 60} min` : `${Math.floor(all / 60)} min ${all % 60} s`;
  }
  const minutes = Math.round(value / 60);
  if (minutes < 48 * 60) return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${trimmed(minutes / 1440, 1)} d`;
}

export function millis(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : seconds(value / 1000);
}

/** Steps of an axis whose marks `clock` tells apart, in seconds. */
export const CLOCK_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400];

/** As on a stopwatch, for axes: 0:05, 12:30, 1:02:03. */
export function clock(ms: number): string {
  const all = Math.max(0, Math.round(ms / 1000));
  const pad = (value: number) => String(value).padStart(2, '0');
  const hours = Math.floor(all / 3600);
  const minutes = Math.floor(all / 60) % 60;
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(all % 60)}` : `${minutes}:${pad(all % 60)}`;
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  if (value < 1024) return `${value} B`;
  if (value < 1 << 20) return `${trimmed(value / 1024, 1)} KiB`;
  if (value < 1 << 30) return `${trimmed(value / (1 << 20), 1)} MiB`;
  return `${trimmed(value / (1 << 30), 2)} GiB`;
}

export function percent(share: number | null | undefined, digits = 0): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return '–';
  const value = share * 100;
  return value > 0 && value < 0.1 && digits < 2 ? '< 0.1 %' : `${trimmed(value, digits)} %`;
}

/** Local time; the day and the year only if they are others. */
export function moment(text: string | null | undefined, now = new Date()): string {
  if (!text) return '–';
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  if (now.toDateString() === date.toDateString()) return date.toLocaleTimeString('en-GB');
  const year = now.getFullYear() === date.getFullYear() ? undefined : 'numeric';
  return date.toLocaleString('en-GB', { day: 'numeric', month: 'short', year, hour: '2-digit', minute: '2-digit' });
}

/** 12:34:56. */
export function timeOfDay(ms: number): string {
  return new Date(ms).toLocaleTimeString('en-GB');
}

/** `1 host`, `2 hosts`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
