/** Sorting of tables: what is not known comes last, whichever way. */

export type Value = string | number | null | undefined;

export interface Order {
  column: string;
  isDown: boolean;
}

export function sortBy<T>(items: T[], value: (item: T) => Value, isDown: boolean): T[] {
  const sign = isDown ? -1 : 1;
  const isKnown = (value: Value) => value !== null && value !== undefined && !Number.isNaN(value);
  return items.toSorted((a, b) => {
    const [left, right] = [value(a), value(b)];
    if (!isKnown(left) || !isKnown(right)) return Number(isKnown(right)) - Number(isKnown(left));
    if (typeof left === 'string' && typeof right === 'string') return sign * left.localeCompare(right, 'en', { numeric: true });
    return sign * (Number(left) - Number(right));
  });
}
