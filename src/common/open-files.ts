/** The limit on open files, which include connections. */

/** The process's own limit, and that of the whole system. */
type OpenFilesCode = 'EMFILE' | 'ENFILE';

/** How deep a chain of causes is searched. */
const MAX_DEPTH = 8;
const IN_WORDS = /\bEMFILE\b|too many open files/iu;

/** How many files this process may have open at once; null: no limit, or none reported. */
export function openFilesLimit(): number | null {
  // The report opens no file, of which none may be left. Network addresses are not needed here.
  Object.assign(process.report, { excludeNetwork: true });
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const limit = report.userLimits?.open_files?.soft;
  return typeof limit === 'number' ? limit : null;
}

/** Whether something, or its cause, failed because no more files could be opened. Null: no. */
export function openFilesCode(thrown: unknown, depth = 0): OpenFilesCode | null {
  if (!(thrown instanceof Error) || depth > MAX_DEPTH) return null;
  // The code of an abort is a number.
  const { code } = thrown as { code?: unknown };
  if (code === 'EMFILE' || code === 'ENFILE') return code;
  // Threads that cannot start, and modules that cannot be read, give the reason in words only.
  if (typeof code === 'string' && code.startsWith('ERR_') && IN_WORDS.test(thrown.message)) return 'EMFILE';
  const inner: unknown[] = thrown instanceof AggregateError ? thrown.errors : [];
  for (const cause of [...inner, thrown.cause]) {
    const found = openFilesCode(cause, depth + 1);
    if (found !== null) return found;
  }
  return null;
}
