import { expect, test } from 'vitest';
import { isLoopback } from '../../../../connectors/dataset-service/http/loopback.ts';

const hostOf = (host: string): string => new URL(`http://${host}:8080/`).hostname;

test.each([
  '127.0.0.1',
  '127.255.255.254',
  '127.1',
  '0x7f.1',
  '0177.0.0.1',
  '2130706433',
  '0.0.0.0',
  '0',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'api.localhost',
  'a.b.localhost.',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:127.3.2.1]',
  '[::ffff:0.0.0.0]',
])('%s is this machine', (host) => {
  expect(isLoopback(hostOf(host))).toBe(true);
});

test.each([
  '128.0.0.1',
  '10.127.0.1',
  '1.0.0.127',
  'localhost.example',
  'notlocalhost',
  '127.0.0.1.example',
  'service.test',
  '[::2]',
  '[::ffff:128.0.0.1]',
  '[::127.0.0.1]',
  '[fe80::1]',
  '[2001:db8::1]',
])('%s is another', (host) => {
  expect(isLoopback(hostOf(host))).toBe(false);
});
