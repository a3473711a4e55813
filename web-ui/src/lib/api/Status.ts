// Made from the types of the API; see api/src.
/**
 * `/api/v1/status`.
 */
export type Status = { 
/**
 * The grid, 16 digits.
 */
grid: string, 
/**
 * The version of the software.
 */
version: string, 
/**
 * Time since this process started.
 */
uptime_s: number, 
/**
 * Hosts in the grid.
 */
hosts: number, 
/**
 * Hosts that were in the grid before the coordinator was restarted, and may still come back.
 */
hosts_awaited: number, 
/**
 * Workers of those that are connected.
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
 * Messages for the coordinator itself since this process started.
 */
messages_in: number, 
/**
 * Frames relayed from host to host.
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
 * Why nothing can be saved, if that is the case.
 */
trouble: string | null, 
/**
 * Jobs run per second, over the last seconds; 0 while no run is under way. Null while it is not known yet, as after a
 * restart of the coordinator.
 */
jobs_per_s: number | null, 
/**
 * Open websockets of pages.
 */
watchers: number, };
