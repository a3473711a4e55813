// Shows the host's status every second. All that comes from others is set as text, never as markup.
'use strict';

const PERIOD_MS = 1000;
const byId = (id) => document.getElementById(id);

const seconds = (s) => {
  if (s > 0 && s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 120) return `${Number(s.toFixed(1))} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
  return `${(s / 3600).toFixed(1)} h`;
};
const size = (bytes) => {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit += 1; }
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
};
const count = (n) => n.toLocaleString('en');

function element(name, text, kind) {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function list(id, pairs) {
  byId(id).replaceChildren(...pairs.flatMap(([name, value]) => [element('dt', name), element('dd', value)]));
}

function say(text) {
  const notice = byId('notice');
  notice.textContent = text;
  notice.hidden = !text;
}

// A live region is written to only when it changes, so that it is read out once.
function setText(id, text, kind) {
  const where = byId(id);
  if (where.textContent !== text) where.textContent = text;
  if (kind !== undefined) where.className = kind;
}

// The time of day; with seconds if it is near, and with the date if that is another.
function until(s) {
  if (s === null) return '';
  const when = new Date(s * 1000);
  const isToday = when.toDateString() === new Date().toDateString();
  const isNear = Math.abs(when - new Date()) < 300_000;
  const time = when.toLocaleTimeString([], {
    hour: '2-digit', minute: '2-digit', second: isNear ? '2-digit' : undefined,
  });
  return ` until ${isToday ? time : `${time}, ${when.toLocaleDateString()}`}`;
}

// Times in reasons are in UTC.
const localised = (text) => text
  .replace('somebody uses the machine', 'you are using the machine')
  .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, (time) => until(Date.parse(time) / 1000).replace(' until ', ''));

// What the owner's preferences have to say.
function comfort(status) {
  const told = status.comfort;
  if (!told || status.paused?.startsWith('paused by its user')) return null;
  if (told.reason) {
    const how = told.phase === 'holds' ? 'paused, its jobs wait here' : status.paused ? 'paused' : 'paused, gives back its jobs';
    return [`${how}: ${localised(told.reason)}`, 'wait'];
  }
  if (status.paused || told.share_percent === 100) return null;
  return [`works with ${told.share_percent} % of its processors${told.in_use ? ', because you are using the machine' : ''}`, 'good'];
}

function state(status) {
  if (status.leaving) return ['leaving', 'wait'];
  const told = comfort(status);
  if (told) return told;
  if (status.paused && !status.paused.startsWith('paused by its user')) return [`takes no work: ${status.paused}`, 'bad'];
  if (status.paused) return [`paused by you${until(status.paused_until_s)}`, 'wait'];
  if (status.refused) return [`the coordinator refuses this host, which tries again: ${status.refused}`, 'bad'];
  if (status.connected_s === null) {
    return [status.unreachable ? `cannot reach the coordinator: ${status.unreachable}` : 'connecting', 'bad'];
  }
  const busy = status.runs.reduce((sum, run) => sum + run.counts.busy, 0);
  const workers = status.threads === 1 ? 'worker' : 'workers';
  return [busy ? `works: ${busy} of ${status.threads} ${workers} busy` : 'waiting for a run', 'good'];
}

function show(status) {
  document.title = `${status.name} · Sateen host`;
  setText('name', status.name);
  setText('state', ...state(status));
  byId('runs').replaceChildren(...status.runs.map((run) => {
    const row = document.createElement('tr');
    const called = [run.function, ...run.arguments].join(' ');
    const isHere = run.app !== '';
    const now = run.counts.workers ? `${run.counts.busy} of ${run.counts.workers}` : 'loaded a moment ago';
    const busy = run.loading ? 'loading' : isHere ? now : `not worked on here${run.unable ? `: ${run.unable}` : ''}`;
    row.append(
      element('td', run.run), element('td', run.app.slice(0, 12)), element('td', called, 'called'),
      element('td', busy, 'number'), element('td', count(run.counts.jobs.executed), 'number'),
      element('td', count(run.counts.jobs.stolen), 'number'), element('td', seconds(run.counts.work_ns / 1e9), 'number'),
    );
    return row;
  }));
  byId('some-runs').hidden = status.runs.length === 0;
  byId('no-runs').hidden = status.runs.length > 0;
  const isWaiting = !status.paused && !status.leaving && status.connected_s !== null && !status.refused;
  byId('no-runs-why').textContent = isWaiting ? ' The host is waiting for a run.' : '';
  list('grid', [
    ['Coordinator', status.coordinator],
    ['This host', status.id ?? 'not in the grid yet'],
    ['Site', status.site],
    ['Connected', status.connected_s === null ? 'no' : `for ${seconds(Math.floor(status.connected_s))}`],
    ['Version', status.version],
  ]);
  list('may', [
    ['Threads', String(status.may_use.threads)],
    ['Priority', status.may_use.priority],
    ['Memory', status.may_use.memory_bytes === null ? 'what a run asks for, within Sateen’s limits' : `at most ${size(status.may_use.memory_bytes)} for all runs together`],
    ['Disk', status.store.off ?? `${size(status.store.bytes)} of saved results`],
    ['Network and files', 'none: apps get no access to either'],
    ['Process', status.guests.own_process ? 'one of its own for each run' : `that of the host${status.guests.why_not ? `: ${status.guests.why_not}` : ''}`],
  ]);
  list('given', [
    ['Processor time', seconds(status.contributed.work_ns / 1e9)],
    ['Jobs', count(status.contributed.jobs)],
    ['Runs and checks', count(status.contributed.runs)],
    ['Since', new Date(status.contributed.since_s * 1000).toLocaleString()],
  ]);
  const peers = status.peers.map((peer) => element('li', `${peer.name}, site ${peer.site}, ${peer.path}`));
  byId('peers').replaceChildren(...(peers.length ? peers : [element('li', status.paused ? 'not known while the host is paused' : 'none')]));
  byId('resume').querySelector('button').disabled = !status.paused || status.leaving;
  byId('pause').querySelector('button').disabled = status.leaving;
  byId('leave').querySelector('button').disabled = status.leaving;
}

async function look() {
  try {
    const answer = await fetch('/status.json', { signal: AbortSignal.timeout(5000) });
    if (!answer.ok) throw new Error(await answer.text());
    show(await answer.json());
    if (byId('notice').dataset.lost) { delete byId('notice').dataset.lost; say(''); }
  } catch {
    byId('notice').dataset.lost = 'yes';
    setText('state', 'unknown', 'bad');
    say('The host does not answer: it has ended, or is about to. Trying again.');
  }
  setTimeout(look, PERIOD_MS);
}

for (const form of document.querySelectorAll('form')) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) return;
    try {
      const answer = await fetch(form.action, {
        method: 'POST', headers: { accept: 'application/json' }, body: new URLSearchParams(new FormData(form)),
      });
      const { said } = await answer.json();
      say(answer.ok ? '' : said);
    } catch {
      say('The host does not answer.');
    }
  });
}

look();
