import { expect, test } from 'vitest';
import { configOf, faultsIn, pipelineWith } from './tools.ts';

test.each([
  ['acme-*-<date>.jsonl.zst', null],
  ['<date>.zst', null],
  ['acme.jsonl.zst', 'must hold <date> once: it stands for the date'],
  ['<date>-<date>.zst', 'must hold <date> once: it stands for the date'],
  ['<dataset>-<date>.zst', 'knows only <date>, and * for anything'],
  ['../<date>.zst', 'must be a name, without a path'],
  ['a\\b-<date>.zst', 'must be a name, without a path'],
  [' a-<date>.zst', 'must be a plain name'],
  ['a-<date>.json', 'must end in .zst, as the files do'],
  [`${'a'.repeat(255)}<date>.zst`, 'must have at most 255 characters'],
])('fileName %j: %s', (fileName, fault) => {
  const text = pipelineWith(`fileName: ${JSON.stringify(fileName)}`);
  expect(faultsIn(text)).toEqual(fault === null ? [] : [`pipelines.p.fileName: ${fault}`]);
  if (fault === null) expect(configOf(text).pipelines[0]?.target).toEqual({ dataset: 'dns', fileName });
});
