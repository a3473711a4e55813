// Made from the types of the API; see api/src.
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
