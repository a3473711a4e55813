import { describe, expect, it } from 'vitest';

import { sentence, stopped } from '../src/lib/api.ts';
import { CLOCK_STEPS_S, bytes, clock, count, moment, percent, seconds, short } from '../src/lib/format.ts';
import { busyText } from '../src/lib/hosts.ts';
import { parse } from '../src/lib/router.svelte.ts';
import { checkedUnits, due, earlierResults, elapsed, found, ofCore, policy, shareOfCore, since, withoutHosts, withoutProgress } from '../src/lib/run.ts';
import { sortBy } from '../src/lib/sort.ts';
import { Window, endMs, fits, idleWhy, listed, said, shares, ticks } from '../src/lib/timeline/model.ts';
import type { Host, TimelineValue } from '../src/lib/types.ts';
import { split } from '../src/lib/words.ts';

describe('addresses', () => {
  it('name pages', () => {
    expect(parse('/')).toEqual({ page: 'overview' });
    expect(parse('/runs')).toEqual({ page: 'overview' });
    expect(parse('/runs/42/')).toEqual({ page: 'run', run: 42, view: 'summary' });
    expect(parse('/runs/42/tree')).toEqual({ page: 'run', run: 42, view: 'tree' });
    expect(parse('/hosts')).toEqual({ page: 'hosts' });
  });
  it('that name none are answered with a sentence', () => {
    for (const path of ['/nowhere', '/runs/x', '/runs/-1', '/runs/1/graph', '/runs/1/tree/2', '/hosts/3', '/%', '/runs/%F0', `/${'x'.repeat(500)}`]) {
      const route = parse(path);
      expect(route.page, path).toBe('missing');
      if (route.page === 'missing') expect(route.why).toMatch(/^[A-Z“].*\.$/);
    }
  });
});

describe('figures', () => {
  it('are short and say when they are not known', () => {
    expect([null, 0, 3.14159, 42.42, 999, 1043.2, 12_345, 1e6, 2.5e9].map(short)).toEqual(['–', '0', '3.14', '42.4', '999', '1.04k', '12.3k', '1M', '2.5G']);
    expect([count(1_234_567), count(null), count(Number.NaN)]).toEqual(['1,234,567', '–', '–']);
    expect([0.0000004, 0.0042, 0.5, 12.34, 100, 125, 3600, 7380, 1e6].map(seconds)).toEqual(['0 µs', '4.2 ms', '500 ms', '12.3 s', '1 min 40 s', '2 min 5 s', '1 h', '2 h 3 min', '11.6 d']);
    expect([bytes(0), bytes(1536), bytes(5 << 20)]).toEqual(['0 B', '1.5 KiB', '5 MiB']);
    expect([percent(0), percent(0.0004), percent(0.1234, 1), percent(null)]).toEqual(['0 %', '< 0.1 %', '12.3 %', '–']);
    expect([clock(0), clock(65_000), clock(3_723_000)]).toEqual(['0:00', '1:05', '1:02:03']);
  });
  it('times name the day and the year only if they are others', () => {
    const now = new Date(2026, 10, 21, 12);
    const at = (...when: [number, number, number, number, number]) => moment(new Date(...when).toISOString(), now);
    expect([at(2026, 10, 21, 9, 5), at(2026, 10, 20, 9, 5), at(2025, 10, 20, 9, 5)]).toEqual(['09:05:00', '20 Nov, 09:05', '20 Nov 2025, 09:05']);
    expect([moment(null), moment('soon')]).toEqual(['–', 'soon']);
  });
  it('marks of an axis are told apart', () => {
    for (const step of CLOCK_STEPS_S) {
      const marks = [0, 1, 2, 3, 4].map((at) => clock(at * step * 1000));
      expect(new Set(marks).size, marks.join()).toBe(marks.length);
    }
  });
  it('sentences end', () => {
    expect([sentence('run 9 is not known'), stopped('ada left'), stopped('why?')]).toEqual(['Run 9 is not known.', 'ada left.', 'why?']);
  });
});

describe('a run', () => {
  const work = (computed_s: number) => ({ work_s: 1, computed_s });
  it('that has not started has no time and no progress', () => {
    expect([elapsed({ elapsed_s: 0, queued_s: 3 }), elapsed({ elapsed_s: 2.5 }), elapsed({ elapsed_s: null })]).toEqual(['–', '2.5 s', '–']);
    expect([withoutProgress({ queued_s: 3 }), withoutProgress({})]).toEqual(['The run has not started.', 'No progress has been reported.']);
  });
  it('whose results are checked says how far', () => {
    const checked = { is_checking: false, units: 4, units_checked: 0, work_share: 0, checks: 0, work_s: 0, barred: [], without_standing: null, caught: [] };
    expect(checkedUnits(null, false)).toBe('nothing so far');
    expect(checkedUnits(checked, false)).toBe('4 units reported so far; they are checked once the root job has a result');
    const half = { ...checked, is_checking: true, units_checked: 3, work_share: 0.5 };
    expect(checkedUnits(half, false)).toBe('3 of 4 units, with 50 % of the work');
    expect(checkedUnits({ ...half, is_checking: false, units: 1, units_checked: 1, work_share: null }, true)).toBe('1 of 1 unit');
    expect(checkedUnits(checked, true)).toBe('0 of 4 units, with 0 % of the work');
    expect(checkedUnits({ ...half, is_checking: false }, false)).toBe('3 of 4 units, with 50 % of the work');
  });
  it('says which results of earlier runs it used', () => {
    const none = { jobs: 0, work_s: 0 };
    expect(earlierResults({ jobs: 999, work_s: 49.9 }, true)).toBe('999 jobs, 49.9 s of work');
    expect(earlierResults({ jobs: 1, work_s: 0.5 }, false)).toBe('1 job, 500 ms of work');
    expect([earlierResults(none, false), earlierResults(none, true)]).toEqual(['none were found so far', 'none were found']);
  });
  it('whose result was kept has never begun', () => {
    const earlier = { jobs: 1, work_s: 49.9 };
    expect(since({ started_at: null, state: 'done', earlier })).toBe('an earlier run had its result');
    expect(withoutHosts({ state: 'done', earlier, waiting_for: null })).toBe('No host had to work on it: an earlier run had its result.');
    expect(withoutHosts({ state: 'queued', earlier: null, waiting_for: null })).toBe('No host has begun it.');
    expect(withoutHosts({ state: 'queued', earlier: null, waiting_for: 'no host is connected' })).toBe('No host is connected.');
    expect(since({ started_at: null, state: 'queued', earlier: { ...earlier, jobs: 0 } })).toBe('not begun');
    expect(since({ started_at: null, state: 'cancelled', earlier: null })).toBe('not begun');
    expect(since({ started_at: '2020-01-01T00:00:00Z', state: 'done', earlier })).toMatch(/^since 1 Jan 2020/);
  });
  it('says how probably a host that lied was found', () => {
    expect(found({ one_in: 1, probability: 1 })).toBe('100 % if it lied in all of its units');
    expect(found({ one_in: 10, probability: 0.9999 })).toBe('99 % if it lied in one of 10');
  });
  it('says what it is due of each host, only while it is given to hosts', () => {
    expect([0.25, 1, 2 / 3, 0.1, 1 / 15, 0.0004].map((share) => due({ share }))).toEqual(['25 %', '100 %', '67 %', '10 %', '6.7 %', '< 0.1 %']);
    // Not all of it: another run is due the rest.
    expect(due({ share: 1000 / 1001 })).toBe('99.9 %');
    expect(due({ share: null })).toBeNull();
  });
  it('says what its trust policy asks for', () => {
    expect([policy('quorum=3'), policy('referee')]).toEqual(['3 hosts with different keys must agree on each unit', '']);
    expect(policy('audit=0.05')).toBe('of each host’s units, the first 20 and then 5 % are computed again by another');
  });
  it('that was short has no share of its processors', () => {
    expect([ofCore(work(4)), ofCore(work(1)), shareOfCore(work(1))]).toEqual(['25 % of a core each', 'of processor time', null]);
  });
});

describe('hosts', () => {
  it('of which nobody knows what they do add nothing to a sum, which says so', () => {
    const host = (busy: number | null) => ({ busy }) as Host;
    expect([[], [host(2), host(0)], [host(2), host(null)]].map(busyText)).toEqual(['0', '2', '≥ 2']);
  });
});

describe('sorting', () => {
  it('puts what is not known last, whichever way', () => {
    const items = [{ v: 2 }, { v: null }, { v: 10 }, { v: undefined }, { v: 1 }];
    expect(sortBy(items, (item) => item.v, false).map((item) => item.v)).toEqual([1, 2, 10, null, undefined]);
    expect(sortBy(items, (item) => item.v, true).map((item) => item.v)).toEqual([10, 2, 1, null, undefined]);
    expect(sortBy(['h10', 'h9', 'h1'], (name) => name, false)).toEqual(['h1', 'h9', 'h10']);
  });
});

describe('arguments', () => {
  it('are parted as by a shell', () => {
    expect(split('  17 --name "two words" \'a "b"\' "" x"y"z ')).toEqual(['17', '--name', 'two words', 'a "b"', '', 'xyz']);
    expect(split('')).toEqual([]);
    expect(() => split('"open')).toThrow('A " is not closed.');
  });
});

describe('a timeline', () => {
  const value: TimelineValue = {
    bucket_ms: 250,
    from_ms: 0,
    rows: [{ host: 'h', host_name: 'h', site: 's', worker: 0, work: [1, 0.5, null], steal: [0, 0.25, null], wait: [0, 0, null] }],
    idle_why: [{ from_ms: 0, to_ms: 100, host: 'h', text: 'old' }, { from_ms: 50, to_ms: 100, host: 'h', text: 'new' }],
  };
  it('adds up what workers did, and says it', () => {
    const what = shares(value, value.rows, 0, 500);
    expect(what).toEqual({ work: 0.75, steal: 0.125, wait: 0, idle: 0.125 });
    expect(what && said(what)).toBe('work 75 %, steal 13 %, idle or busy with other runs 12 %');
    expect(said({ work: 0.795, steal: 0.19, wait: 0.0001, idle: 0.0149 })).toBe('work 80 %, steal 19 %, idle or busy with other runs 1 %');
    expect(shares(value, value.rows, 500, 750)).toBeNull();
    expect(shares(value, [], 0, 500)).toBeNull();
    const other = { ...value.rows[0], work: [0, 0, 0], steal: [0, 0, 0], wait: [1, 1, 1] };
    expect(shares(value, [value.rows[0], other], 0, 500)).toEqual({ work: 0.375, steal: 0.0625, wait: 0.5, idle: 0.0625 });
  });
  it('says why a worker did not work: what is reported of it, or else what it did instead', () => {
    const idle = { work: 0.1, steal: 0, wait: 0, idle: 0.9 };
    const why = (host: string, ms: number, what = idle) => idleWhy(value.idle_why, host, ms, what);
    expect([why('h', 70), why('h', 20), why('h', 70, { ...idle, work: 1, idle: 0 })]).toEqual(['new', 'old', null]);
    expect(why('x', 70)).toMatch(/not known/);
    expect(why('x', 70, { ...idle, steal: 0.6, idle: 0.3 })).toMatch(/no host had work to give/);
    expect(why('x', 70, { ...idle, wait: 0.6, idle: 0.3 })).toMatch(/waited for results/);
  });
  it('ends where all workers have reported, while the run is under way', () => {
    const row = (work: (number | null)[]) => ({ ...value.rows[0], work });
    const left = row([1, ...Array<null>(19).fill(null)]);
    const late = row([...Array<number>(18).fill(1), null, null]);
    const rows = [left, late, row(Array<number>(20).fill(1))];
    expect([endMs({ ...value, rows }, false), endMs({ ...value, rows }, true)]).toEqual([4500, 5000]);
    expect(endMs({ ...value, rows: [] }, false)).toBe(0);
  });
  it('has few marks', () => {
    expect(ticks(0, 60_000, 8)).toEqual([0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
    for (const span of [600, 5e3, 1e6, 1e9, 1e12]) expect(ticks(0, span, 8).length).toBeLessThanOrEqual(10);
  });
  it('leaves out a label that would be cut off', () => {
    expect([fits('0:30', 900, 1000), fits('0:30', 964, 1000), fits('0:30', 970, 1000), fits('1:00:30', 964, 1000)]).toEqual([true, true, false, false]);
  });
  it('lists no time that begins and ends at once, as it is written', () => {
    const span = (from_ms: number, to_ms: number | null) => ({ from_ms, to_ms, host: null, text: '' });
    expect(listed([span(0, 300), span(37_000, 37_400), span(300, 900), span(0, null), span(32_000, 37_000)])).toEqual([
      span(300, 900),
      span(0, null),
      span(32_000, 37_000),
    ]);
  });
  it('shows the whole as it grows, and follows its end unless one has looked away', () => {
    const window = new Window();
    window.widthPx = 1000;
    window.bounds(0, 10_000);
    expect([window.fromMs, window.toMs]).toEqual([0, 10_000]);
    window.bounds(0, 20_000);
    expect([window.fromMs, window.toMs]).toEqual([0, 20_000]);
    window.zoom(4, 1000);
    window.bounds(0, 30_000);
    expect([window.fromMs, window.toMs]).toEqual([25_000, 30_000]);
    window.pan(-500);
    window.bounds(0, 40_000);
    expect([window.fromMs, window.toMs]).toEqual([22_500, 27_500]);
    window.heightPx = 90;
    window.reveal(9, 5000);
    expect([window.fromMs, window.toMs, window.topPx]).toEqual([2500, 7500, 90]);
    window.reveal(8, 3000);
    expect([window.fromMs, window.topPx]).toEqual([2500, 90]);
  });
});
