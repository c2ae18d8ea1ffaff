/** The longest line that can become a row, in bytes without its line end (docs/contract.md, "Rejected lines"). Longer ones are rejected. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Bytes kept of a rejected line. */
export const MAX_RAW_BYTES = 64 * 1024;
