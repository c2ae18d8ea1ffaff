/**
 * The nouns of domainsync, and the contracts between its halves.
 *
 * Glossary
 * - service      the dataset service that sells the files (docs/service.md).
 * - target       what is requested from the service: a dataset, or one slice of it.
 * - source key   a target as one string, `dns` or `dns/tld/de`; rows carry it, so that a slice deletes only its own.
 * - file         one dated snapshot of a target, as the service offers it now. Its identity is name, date, size, validator.
 * - revision     counts the different files seen for one date, from 0: the service may publish a date again.
 * - spool        a file on the local disk that may still grow; one writer, any number of readers.
 * - frame        a zstd frame (RFC 8878). A file has one or many.
 * - block        24 MiB of whole decompressed lines, or 131,072 lines, numbered from 0. The same file always gives the same
 *                blocks. The unit of work, back-pressure, progress, retry and restart.
 * - line         counted from 1 over the whole file, as an editor counts them.
 * - row          a line that was accepted, normalised by the table of columns (rows/columns.ts).
 * - reject       a line that was not, with its reason.
 * - row writer   turns normalised values into a destination's wire format.
 * - load         one destination taking in one file: opened, fed blocks, finished or failed.
 * - landed       a block is landed when the destination survives a kill with it.
 * - epoch        numbers the owners of a load; whoever holds the highest epoch may write, older owners are fenced.
 * - snapshot     what a destination holds of a target: the last loaded file, with its date and revision (`held` in `--json`
 *                documents, table comments and progress records).
 * - orphan       a table of a pipeline that is no longer configured.
 */

export * from './block.ts';
export * from './destination.ts';
export * from './file.ts';
export * from './history.ts';
export * from './json.ts';
export * from './log.ts';
export * from './progress.ts';
export * from './published.ts';
export * from './row.ts';
export * from './run.ts';
export * from './service.ts';
