/** The longest line that can become a row, in bytes without its line end (contract 3). Longer ones are rejected. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** How much of a rejected line is kept, in bytes. */
export const MAX_RAW_BYTES = 64 * 1024;

/**
 * How many lines of one block may be rejected before the run fails. Rejects are the one thing of which a block can have
 * more than it has bytes for: three million took 2 GB [measured], and a thread without memory can take the process
 * with it. So many in 32 MB have 64 bytes each at most: this is no file of rows with some bad ones among them.
 */
export const MAX_BLOCK_REJECTS = 500_000;
