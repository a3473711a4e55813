/** What the pages say of a host. */

import { count } from './format.ts';
import type { Host } from './types.ts';

export const stateOf = (host: Host): string => host.state;

/** Why a host does nothing; empty for one that works. */
export function why(host: Host): string {
  return (host.connected && host.paused) || host.why_idle || '';
}

/** The workers that compute at these hosts, as far as that is known. */
export const busyOf = (hosts: Host[]): number => hosts.reduce((sum, { busy }) => sum + (busy ?? 0), 0);

/** The same in words. */
export const busyText = (hosts: Host[]): string =>
  `${hosts.some(({ busy }) => busy === null) ? '≥ ' : ''}${count(busyOf(hosts))}`;
