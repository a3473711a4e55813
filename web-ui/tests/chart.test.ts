import { describe, expect, it } from 'vitest';

import { levels, moments, path } from '../src/lib/chart.ts';

describe('a chart', () => {
  it('has round numbers beside it, about as many as there is room for', () => {
    expect(levels(1, 4)).toEqual([0, 0.5, 1]);
    expect(levels(43, 4)).toEqual([0, 20, 40]);
    expect(levels(1245, 4)).toEqual([0, 500, 1000]);
    expect(levels(1e6, 4)).toEqual([0, 500_000, 1e6]);
    for (let most = 1; most < 1e7; most *= 1.37) {
      const all = levels(most, 4);
      expect(all.length, String(most)).toBeGreaterThanOrEqual(2);
      expect(all.length, String(most)).toBeLessThanOrEqual(5);
      expect(all[all.length - 1], String(most)).toBeLessThanOrEqual(most);
    }
  });
  it('has round moments below it', () => {
    expect(moments(0, 61_000, 4)).toEqual([0, 30_000, 60_000]);
    expect(moments(70_000, 190_000, 4)).toEqual([90_000, 120_000, 150_000, 180_000]);
    expect(moments(0, 0, 4)).toEqual([0]);
    expect(moments(1, 2, 4)).toEqual([]);
    // A month.
    const days = moments(0, 30 * 86_400_000, 4);
    expect(days).toEqual([0, 8, 16, 24].map((day) => day * 86_400_000));
    for (let most_s = 1; most_s < 1e7; most_s *= 1.37) expect(moments(0, most_s * 1000, 6).length).toBeLessThanOrEqual(7);
  });
  it('has lines with gaps where nothing is known', () => {
    expect(path([0, 10, 20, 30], [5, 6, null, 7.25])).toBe('M0.0 5.0L10.0 6.0M30.0 7.3');
    expect(path([0, 10, 20], [null, 6, 7], 90)).toBe('M10.0 6.0L20.0 7.0V90H10.0Z');
    expect(path([0, 10, 20, 30], [1, null, 2, null], 9)).toBe('M0.0 1.0V9H0.0ZM20.0 2.0V9H20.0Z');
    expect([path([], []), path([1], [null], 9)]).toEqual(['', '']);
  });
});
