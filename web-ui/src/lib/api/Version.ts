// Made from the coordinator's types; see coordinator/src/api/types.
/**
 * `/version`.
 */
export type Version = { 
/**
 * Of the program.
 */
name: string, 
/**
 * Of its software.
 */
version: string, 
/**
 * Of frames and messages.
 */
protocol: number, 
/**
 * The grid, 16 digits.
 */
grid: string, };
