// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the language of the configuration
import { expect, test } from 'vitest';
import { configOf, faultsIn, pipelineWith } from './tools.ts';

function dataDir(value: string, env: Record<string, string> = {}): string {
  return configOf(`dataDir: '${value}'`, { env }).dataDir;
}

test('a variable stands for its value, alone and inside longer text', () => {
  expect(dataDir('/a/${X}', { X: 'b' })).toBe('/a/b');
  expect(dataDir('${X}${Y}/c', { X: '/a', Y: 'b' })).toBe('/ab/c');
  expect(dataDir('/a/$X', { X: 'b' })).toBe('/a/$X');
});

test('a default stands in for what is not set or empty', () => {
  expect(dataDir('/${X:-d}')).toBe('/d');
  expect(dataDir('/${X:-d}', { X: '' })).toBe('/d');
  expect(dataDir('/${X:-d}', { X: 'x' })).toBe('/x');
  expect(dataDir('/a${X:-}')).toBe('/a');
  expect(dataDir('/${X:-http://h:1/$p}')).toBe('/http:/h:1/$p');
});

test('a value of the environment is neither expanded again nor read as YAML', () => {
  expect(dataDir('/${X}', { X: '${Y}', Y: 'no' })).toBe('/${Y}');
  expect(dataDir('/${X}', { X: '[a, b]' })).toBe('/[a, b]');
});

test('keys are left alone', () => {
  expect(faultsIn("'${X}': 1", { env: { X: 'dataDir' } })).toEqual(['${X}: unknown key']);
});

test('numbers and booleans are read out of text of the environment, and of nothing else', () => {
  const env = { N: '3', F: '0.25', B: 'true', BAD: 'three' };
  expect(configOf('download: { keep: "${N}" }', { env }).download.keep).toBe(3);
  expect(configOf('download: { keep: "${UNSET:-4}" }', { env }).download.keep).toBe(4);
  expect(configOf(pipelineWith('minRows: "${F}"'), { env }).pipelines[0]?.minRows).toBe(0.25);
  expect(configOf('kafka: { ssl: "${B}" }', { env }).kafka.ssl).toBe(true);
  const wrong = ['download.keep: must be a whole number, 0 or more'];
  expect(faultsIn('download: { keep: "3" }', { env })).toEqual(wrong);
  expect(faultsIn('download: { keep: "${F}" }', { env })).toEqual(wrong);
  expect(faultsIn('download: { keep: "${BAD}" }', { env })).toEqual(wrong);
  expect(faultsIn('download: { keep: "${EMPTY}" }', { env: { EMPTY: '' } })).toEqual(wrong);
});

test('variables work in lists, conditions and settings', () => {
  const env = { C: 'DE', HOST: 'k', T: '2' };
  const config = configOf(
    `kafka: { brokers: ["\${HOST}:9092"] }
clickhouse: { settings: { max_threads: "\${T}" } }
pipelines: { p: { dataset: d, where: { country: ["\${C}", at] }, to: { clickhouse: { table: t } } } }`,
    { env },
  );
  expect(config.kafka.brokers).toEqual(['k:9092']);
  expect(config.clickhouse.settings).toEqual({ max_threads: '2' });
  expect(config.pipelines[0]?.where).toEqual([{ column: 'country', values: ['de', 'at'] }]);
});

test('what is not set is told with its name and path', () => {
  expect(faultsIn("dataDir: '${A}/${B}/${A}'")).toEqual([
    'dataDir: the environment variables A, B are not set, and no default is given',
  ]);
  expect(faultsIn(pipelineWith('where: { country: ["${A}"] }'))).toEqual([
    'pipelines.p.where.country: the environment variable A is not set, and no default is given',
  ]);
  // Names that every object inherits are no variables.
  expect(faultsIn("dataDir: '${constructor}'")).toEqual([
    'dataDir: the environment variable constructor is not set, and no default is given',
  ]);
});

test.each(['${}', '${1A}', '${A-b}', '${A:?b}', '${A', '${A B}', '${ A }', '${A:-${B}}'])(
  'no reference: %s',
  (text) => {
    expect(faultsIn(`dataDir: '${text}'`, { env: { A: 'a' } })).toEqual([
      'dataDir: a reference to the environment is written ${NAME} or ${NAME:-default}',
    ]);
  },
);
