/** The limit of open files, connections among them. */

/** A process's own limit, and that of the whole system. */
type OpenFilesCode = 'EMFILE' | 'ENFILE';

/** Causes of causes are not looked at further down. */
const MAX_DEPTH = 8;
const IN_WORDS = /\bEMFILE\b|too many open files/iu;

/** How many files this process may have open at once; null where there is no limit, or none is told. */
export function openFilesLimit(): number | null {
  // It reads no file, of which there may be none left to open; the addresses of networks are of no use here.
  Object.assign(process.report, { excludeNetwork: true });
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const limit = report.userLimits?.open_files?.soft;
  return typeof limit === 'number' ? limit : null;
}

/** Whether something failed, or what caused it did, since no further file could be opened; null: it did not. */
export function openFilesCode(thrown: unknown, depth = 0): OpenFilesCode | null {
  if (!(thrown instanceof Error) || depth > MAX_DEPTH) return null;
  // That of an abort is a number.
  const { code } = thrown as { code?: unknown };
  if (code === 'EMFILE' || code === 'ENFILE') return code;
  // Threads that cannot be started, and modules that cannot be read, tell the reason in words only.
  if (typeof code === 'string' && code.startsWith('ERR_') && IN_WORDS.test(thrown.message)) return 'EMFILE';
  const inner: unknown[] = thrown instanceof AggregateError ? thrown.errors : [];
  for (const cause of [...inner, thrown.cause]) {
    const found = openFilesCode(cause, depth + 1);
    if (found !== null) return found;
  }
  return null;
}
