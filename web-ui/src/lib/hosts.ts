/** What the pages say of a host. */

import type { Host } from './types.ts';

export const stateOf = (host: Host): string => host.state;

/** Why a host does nothing; empty for one that works. */
export function why(host: Host): string {
  return (host.connected && host.paused) || host.why_idle || '';
}
