import { expect, test } from 'vitest';
import { DomainsyncError } from '../../src/common/errors.ts';
import { readHistory } from '../../src/pipeline/read-history.ts';
import type { Destination, DomainHistory } from '../../src/types/index.ts';

const NEVER = new AbortController().signal;
const HISTORY: DomainHistory = { domain: 'a.example', object: 'lab.dns_versions', since: '2027-01-01', versions: [] };

/** A pipeline with these destinations, as far as a history is asked of them. */
function pipelineOf(...histories: (Destination['history'] | null)[]) {
  const told = { opened: 0, closed: 0 };
  const destinations = histories.map((history) => ({
    ...(history === null ? {} : { history }),
    close: async () => {
      told.closed += 1;
    },
  })) as unknown as Destination[];
  const pipeline = {
    name: 'dns',
    destinations: async () => {
      told.opened += destinations.length;
      return destinations;
    },
  };
  return { pipeline, told };
}

test('the first destination that can answer is asked, and all are closed', async () => {
  const { pipeline, told } = pipelineOf(null, async (domain) => ({ ...HISTORY, domain }));
  expect(await readHistory(pipeline, 'b.example', NEVER)).toEqual({ pipeline: 'dns', ...HISTORY, domain: 'b.example' });
  expect(told).toEqual({ opened: 2, closed: 2 });
});

test('no destination can answer, as of a pipeline into a topic only', async () => {
  const { pipeline, told } = pipelineOf(null);
  const hint = expect.stringContaining('to.clickhouse.history: true');
  await expect(readHistory(pipeline, 'a.example', NEVER)).rejects.toMatchObject({ code: 'USAGE', hint });
  expect(told).toEqual({ opened: 1, closed: 1 });
});

test('what a destination throws comes through, and it is closed', async () => {
  const { pipeline, told } = pipelineOf(async () => {
    throw new DomainsyncError('DESTINATION_UNREACHABLE', 'away');
  });
  await expect(readHistory(pipeline, 'a.example', NEVER)).rejects.toMatchObject({ code: 'DESTINATION_UNREACHABLE' });
  expect(told).toEqual({ opened: 1, closed: 1 });
});

test('nothing is opened for no domain', async () => {
  const { pipeline, told } = pipelineOf(async () => HISTORY);
  await expect(readHistory(pipeline, ' \t', NEVER)).rejects.toMatchObject({ code: 'USAGE' });
  expect(told.opened).toBe(0);
});
