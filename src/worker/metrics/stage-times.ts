/** Wraps sources and destinations to report how long each stage of a run takes. */
import type { Destination, Load, RemoteFile, Source } from '../../types/index.ts';

/**
 * - ask       which file is newest
 * - download  from the start of the download to the last byte on the disk
 * - recover   finishing what a killed run left
 * - write     one block into the destination
 * - finish    verifying the file as a whole and making it visible
 */
export type Stage = 'ask' | 'download' | 'recover' | 'write' | 'finish';

export type ObserveStage = (stage: Stage, seconds: number) => void;

/** Times only what succeeds: a failed stage says nothing about its duration. */
async function timed<T>(stage: Stage, observe: ObserveStage, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work();
  observe(stage, (performance.now() - started) / 1000);
  return result;
}

/** @param found called with the newest file */
export function timedSource(source: Source, observe: ObserveStage, found?: (file: RemoteFile) => void): Source {
  return overlaid(source, {
    newest: async (target, signal) => {
      const file = await timed('ask', observe, () => source.newest(target, signal));
      found?.(file);
      return file;
    },
    open: async (target, expected, signal) => {
      const started = performance.now();
      const spool = await source.open(target, expected, signal);
      spool.complete.then(
        () => observe('download', (performance.now() - started) / 1000),
        () => {},
      );
      return spool;
    },
  });
}

export function timedDestination(destination: Destination, observe: ObserveStage): Destination {
  return overlaid(destination, {
    recover: (keep, signal) => timed('recover', observe, () => destination.recover(keep, signal)),
    open: async (request, signal) => timedLoad(await destination.open(request, signal), observe),
  });
}

function timedLoad(load: Load, observe: ObserveStage): Load {
  return overlaid(load, {
    write: (block, signal) => timed('write', observe, () => load.write(block, signal)),
    finish: (...all) => timed('finish', observe, () => load.finish(...all)),
  });
}

/** The object with some methods replaced. The other methods run on the object itself, so private fields work. */
function overlaid<T extends object>(object: T, methods: Partial<T>): T {
  return new Proxy(object, {
    get: (target, key) => {
      if (key in methods) return methods[key as keyof T];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
