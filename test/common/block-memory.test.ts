import { expect, test } from 'vitest';
import { BlockMemory } from '../../src/common/block-memory.ts';

const MiB = 2 ** 20;

test('a buffer that was given is taken again, up to so many, until the end', () => {
  const memory = new BlockMemory(2);
  const [a, b, c] = [memory.take(24 * MiB), memory.take(24 * MiB), memory.take(24 * MiB)];
  expect(new Set([a, b, c]).size).toBe(3);
  for (const buffer of [a, b, c]) memory.give(buffer);
  const again = [memory.take(24 * MiB), memory.take(24 * MiB), memory.take(24 * MiB)];
  expect(again.filter((buffer) => [a, b].includes(buffer)).length).toBe(2);
  expect(again).not.toContain(c);
  memory.close();
});

test('what is taken is large enough: small blocks and very large ones have buffers of their own', () => {
  const memory = new BlockMemory(2);
  expect(memory.take(1000).byteLength).toBe(1000);
  expect(memory.take(80 * MiB).byteLength).toBe(80 * MiB);
  const usual = memory.take(24 * MiB);
  for (const buffer of [memory.take(1000), memory.take(80 * MiB), usual]) memory.give(buffer);
  expect(memory.take(1000)).not.toBe(usual);
  expect(memory.take(80 * MiB).byteLength).toBe(80 * MiB);
  expect(memory.take(24 * MiB)).toBe(usual);
  memory.close();
});

test('the buffers of one load serve the next, and never two at a time', () => {
  const first = new BlockMemory(3);
  const buffers = [first.take(24 * MiB), first.take(24 * MiB)];
  for (const buffer of buffers) first.give(buffer);
  first.close();
  const second = new BlockMemory(3);
  const third = new BlockMemory(3);
  const taken = [second.take(24 * MiB), second.take(24 * MiB)];
  expect(new Set([...taken, ...buffers]).size).toBe(2);
  expect(buffers).not.toContain(third.take(24 * MiB));
  // What comes back after the end is nobody's; what came back before is the next one's.
  const [early, late] = taken as [SharedArrayBuffer, SharedArrayBuffer];
  second.give(early);
  second.close();
  second.give(late);
  const fourth = new BlockMemory(3);
  expect(fourth.take(24 * MiB)).toBe(early);
  expect(fourth.take(24 * MiB)).not.toBe(late);
});
