import { describe, expect, it } from 'vitest';

import eventKinds from '../src/lib/api/EventKind.ts?raw';
import { counted, marksOf, placed, placedWithin } from '../src/lib/marks.ts';
import { isBad, signOf } from '../src/lib/signs.ts';
import type { RunEvent } from '../src/lib/types.ts';

const event = (number: number, t_ms: number, kind: string): RunEvent => ({ number, t_ms, kind, host: null, job: null, text: `${kind} ${number}` });

describe('marks', () => {
  const marks = marksOf([
    event(1, 0, 'submitted'),
    event(2, 100, 'host_joined'),
    event(3, 9000, 'root_lost'),
    event(4, 5000, 'host_lost'),
    event(5, 5005, 'host_joined'),
    event(6, 6000, 'coordinator_restarted'),
    event(7, 7000, 'constructor'),
  ]);

  it('are of kills, restarts, joins and leaves, in the order of time', () => {
    expect(marks.map((mark) => [mark.ms, mark.sign])).toEqual([[100, '+'], [5000, '✕'], [5005, '+'], [6000, '↺'], [9000, '✕']]);
  });

  it('stand together where there is no room, the worst on top', () => {
    const of = (from: number, to: number) => placed(marks, (ms) => ((ms - from) / (to - from)) * 100, 100);
    expect(of(0, 10_000).map((mark) => [mark.sign, mark.text.split('\n').length])).toEqual([['+', 1], ['✕', 2], ['↺', 1], ['✕', 1]]);
    const reversed = placed(marksOf([event(1, 10, 'host_joined'), event(2, 11, 'host_lost')]), (ms) => ms, 100);
    expect(reversed).toMatchObject([{ sign: '✕', isBad: true, text: 'host_joined 1\nhost_lost 2' }]);
    // A join was drawn, and a suspension beside it was nowhere.
    const stopped = placed(marksOf([event(1, 1, 'host_joined'), event(2, 2, 'suspended'), event(3, 3, 'host_left')]), (ms) => ms, 100);
    expect(stopped).toMatchObject([{ sign: '❚', isBad: false, text: 'host_joined 1\nsuspended 2\nhost_left 3' }]);
    expect(of(5000, 5010).map((mark) => mark.sign)).toEqual(['✕', '+']);
    expect(of(20_000, 30_000)).toEqual([]);
  });

  it('of the time before the first point of a chart, or after the last, stand at its edges', () => {
    const x = (ms: number) => (ms - 500) / 100;
    const ends = marksOf([event(1, 0, 'host_joined'), event(2, 5500, 'host_left'), event(3, 10_900, 'host_lost')]);
    expect(placed(ends, x, 100).map(({ sign }) => sign)).toEqual(['−']);
    expect(placedWithin(ends, x, [500, 10_500], 100).map(({ sign, x }) => [sign, x])).toEqual([['+', 0], ['−', 50], ['✕', 100]]);
  });

  it('are counted by what they mean', () => {
    expect(counted(marks).map(({ text }) => text)).toEqual(['host joined: 2', 'host lost: 1', 'coordinator restarted: 1', 'root lost: 1']);
    const back = marksOf([event(1, 1, 'host_resumed'), event(2, 2, 'host_returned')]);
    expect(counted(back).map(({ sign, text }) => `${sign} ${text}`)).toEqual(['▶ host resumed: 1', '↩ host returned: 1']);
  });
});

describe('signs', () => {
  const kinds = [...eventKinds.matchAll(/"(\w+)"/g)].map(([, kind]) => kind);

  it('there is one for each kind of event', () => {
    expect(kinds).toContain('submitted');
    expect(kinds.filter((kind) => signOf(kind) === '·')).toEqual([]);
  });

  it('what was lost is bad', () => {
    expect(kinds.filter(isBad)).toEqual(['host_lost', 'jobs_interrupted', 'root_lost']);
  });
});
