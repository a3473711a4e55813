/** Times within sentences of the coordinator, which are in UTC, shown in local time. */

import { moment } from './format.ts';

const UTC = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
/** Fields with sentences of the coordinator. Others, such as `submitted_at` and what apps say, are kept as they are. */
const SENTENCES = new Set(['text', 'waiting_for', 'paused', 'why_idle', 'remaining_why']);

export function localised(text: string, now = new Date()): string {
  return text.replace(UTC, (at) => moment(at, now));
}

/** The same value, changed in place. */
export function localise<T>(value: T): T {
  if (Array.isArray(value)) {
    // Series are long, and have numbers only.
    if (typeof value[0] === 'object') value.forEach(localise);
  } else if (typeof value === 'object' && value !== null) {
    const fields = value as Record<string, unknown>;
    for (const [name, field] of Object.entries(fields)) {
      if (typeof field !== 'string') localise(field);
      else if (SENTENCES.has(name)) fields[name] = localised(field);
    }
  }
  return value;
}
