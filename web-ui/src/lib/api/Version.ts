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
grid: string, };
