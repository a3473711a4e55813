/** What the pages say of a host. */

import type { Host } from './types.ts';

export type HostState = 'working' | 'idle' | 'paused' | 'away';

export function stateOf(host: Host): HostState {
  if (!host.connected) return 'away';
  if (host.paused !== null) return 'paused';
  return host.busy > 0 ? 'working' : 'idle';
}

/** Why a host does nothing; empty for one that works. */
export function why(host: Host): string {
  return (host.connected && host.paused) || host.why_idle || '';
}
