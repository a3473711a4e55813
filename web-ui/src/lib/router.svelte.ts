/** Which page the address names, and what of it: all that one sees can be linked to. */

export type Route =
  | { page: 'overview' }
  | { page: 'run'; run: number; view: 'summary' | 'tree' | 'timeline' }
  | { page: 'hosts' }
  | { page: 'apps' }
  | { page: 'missing'; why: string };

export function parse(path: string): Route {
  const words = path.split('/').filter((word) => word !== '');
  if (words.length === 0) return { page: 'overview' };
  if (words.length === 1 && words[0] === 'hosts') return { page: 'hosts' };
  if (words.length === 1 && words[0] === 'apps') return { page: 'apps' };
  if (words[0] === 'runs' && words.length <= 3) {
    if (words.length === 1) return { page: 'overview' };
    if (!/^\d{1,15}$/.test(words[1])) {
      return { page: 'missing', why: `“${decoded(words[1])}” is not a run’s number; runs are numbered 1, 2, 3 and so on.` };
    }
    const run = Number(words[1]);
    const view = words[2] ?? 'summary';
    if (words.length === 2 || view === 'tree' || view === 'timeline') {
      return { page: 'run', run, view: view as 'summary' | 'tree' | 'timeline' };
    }
  }
  return { page: 'missing', why: `There is no page “${decoded(path)}” here.` };
}

function decoded(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  try {
    return decodeURIComponent(short);
  } catch {
    return short;
  }
}

class Router {
  route = $state.raw<Route>(parse(location.pathname));
  query = $state.raw(new URLSearchParams(location.search));
  /** Counts addresses that one came to; what a page itself says of its address is none. */
  visit = $state(0);

  constructor() {
    addEventListener('popstate', () => this.#read());
    // Links within the dashboard do not load it anew.
    document.addEventListener('click', (event) => {
      if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      const link = (event.target as Element | null)?.closest?.('a');
      if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
      if (link.pathname.startsWith('/api/') || /^\/(metrics|healthz|readyz|version)$/.test(link.pathname)) return;
      if (link.getAttribute('href')?.startsWith('#')) return;
      event.preventDefault();
      this.go(link.pathname + link.search);
    });
  }

  #read(): void {
    this.route = parse(location.pathname);
    this.query = new URLSearchParams(location.search);
    this.visit += 1;
  }

  go(address: string): void {
    history.pushState(null, '', address);
    this.#read();
    scrollTo(0, 0);
    // Screen readers announce the new page.
    queueMicrotask(() => document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true }));
  }

  /** Changes what the address says of this page. `null` takes a word out. */
  say(words: { [name: string]: string | null }, isStep = false): void {
    const query = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(words)) {
      if (value === null || value === '') query.delete(name);
      else query.set(name, value);
    }
    const text = query.toString();
    const address = location.pathname + (text === '' ? '' : `?${text}`);
    if (address === location.pathname + location.search) return;
    if (isStep) history.pushState(null, '', address);
    else history.replaceState(null, '', address);
    this.query = query;
  }
}

export const router = new Router();
