// Made from the types of the API; see api/src.
/**
 * `/version`.
 */
export type Version = { 
/**
 * The program's version.
 */
name: string, 
/**
 * The version of its software.
 */
version: string, 
/**
 * The version of frames and messages.
 */
protocol: number, 
/**
 * The grid, 16 digits.
 */
grid: string, 
/**
 * The oldest release of hosts and clients that the operator accepts; null if any is accepted that speaks the protocol.
 */
minimum_version: string | null, };
