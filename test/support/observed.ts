/** Destinations that report their loads' progress, so that a test can strike at a given point. */
import type { Destination, Load } from '../../src/types/index.ts';

/** A destination that strikes in its second pass. @param strike called after each block of the second pass was written, with how many there were */
export function struckAgain(of: Destination, strike: (written: number) => unknown): Destination {
  let written = 0;
  return overlaid(of, {
    open: async (request, signal) => {
      const load = await of.open(request, signal);
      return overlaid<Load>(load, {
        finish: (blocks, until, again) =>
          load.finish(blocks, until, (pass) =>
            again({
              encoding: pass.encoding,
              only: (...all) => pass.only(...all),
              write: async (block, signal) => {
                await pass.write(block, signal);
                written += 1;
                await strike(written);
              },
            }),
          ),
      });
    },
  });
}

/** A destination that strikes when all blocks of a file have been written, before anything is made of them. */
export function struckBeforeEnd(of: Destination, strike: () => Promise<void>): Destination {
  return overlaid(of, {
    open: async (request, signal) => {
      const load = await of.open(request, signal);
      return overlaid<Load>(load, {
        finish: async (...all) => {
          await strike();
          return load.finish(...all);
        },
      });
    },
  });
}

/** The object with some of its methods replaced; the others run on the object itself, private fields and all. */
function overlaid<T extends object>(object: T, methods: Partial<T>): T {
  return new Proxy(object, {
    get: (target, key) => {
      const own: unknown = Reflect.get(methods, key) ?? Reflect.get(target, key, target);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}
