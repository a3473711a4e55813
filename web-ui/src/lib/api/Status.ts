// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * `/api/v1/status`.
 */
export type Status = { 
/**
 * The grid, 16 digits.
 */
grid: string, 
/**
 * Of the software.
 */
version: string, 
/**
 * Since this process began.
 */
uptime_s: number, 
/**
 * Hosts that are there.
 */
hosts: number, 
/**
 * Their workers.
 */
threads: number, 
/**
 * How many runs are in each state.
 */
runs: { [key in string]: number }, 
/**
 * Open websockets.
 */
links: number, 
/**
 * Messages for the coordinator itself since this process began.
 */
messages_in: number, 
/**
 * Frames passed on from host to host.
 */
relayed_frames: number, 
/**
 * Their bytes.
 */
relayed_bytes: number, 
/**
 * Hosts that broke the protocol.
 */
misbehaviours: number, 
/**
 * Why nothing can be saved.
 */
trouble: string | null, 
/**
 * Jobs run in the last seconds.
 */
jobs_per_s: number, 
/**
 * Of the work that hosts have reported since this coordinator was started, what was done again after a crash, from 0
 * to 1.
 */
redone_share: number, 
/**
 * Open websockets of pages.
 */
watchers: number, };
