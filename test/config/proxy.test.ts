import { expect, test } from 'vitest';
import { redactor } from '../../config/redact.ts';
import { configOf, faultsIn } from './tools.ts';

const SERVICE = 'service: { url: https://s.example, apiKey: key_123 }';

const proxyOf = (text: string, env: Record<string, string>) => configOf(text, { env, service: true }).service?.proxy;

test('the proxies of the environment, lower case first, with and without a scheme', () => {
  expect(proxyOf(SERVICE, {})).toBeUndefined();
  expect(proxyOf(SERVICE, { NO_PROXY: '*', HTTPS_PROXY: '' })).toBeUndefined();
  expect(proxyOf(SERVICE, { HTTPS_PROXY: 'http://p:3128', NO_PROXY: 'a.example, b' })).toEqual({
    httpProxy: '',
    httpsProxy: 'http://p:3128/',
    noProxy: 'a.example, b',
  });
  const both = {
    https_proxy: 'p:3128',
    HTTPS_PROXY: 'http://other',
    HTTP_PROXY: 'https://u:w@q/',
    no_proxy: 'c',
    NO_PROXY: 'd',
  };
  expect(proxyOf(SERVICE, both)).toEqual({ httpProxy: 'https://u:w@q/', httpsProxy: 'http://p:3128/', noProxy: 'c' });
  // Set to nothing in lower case, it is none, as undici reads it.
  expect(proxyOf(SERVICE, { https_proxy: '', HTTPS_PROXY: 'http://p' })).toBeUndefined();
});

test.each(['ftp://u:Hunter2@p', 'http://', 'http://u:Hunter2@', 'a b', 'Hunter2://p'])('%s is no proxy', (value) => {
  const faults = faultsIn(SERVICE, { env: { HTTPS_PROXY: value }, service: true });
  expect(faults).toEqual([
    'service: the environment variable https_proxy (or HTTPS_PROXY) names no proxy: http://host:port is one',
  ]);
  expect(faultsIn(SERVICE, { env: { HTTPS_PROXY: value } })).toEqual([]);
});

test('user and password of a proxy are secrets', () => {
  const config = configOf(SERVICE, { env: { HTTPS_PROXY: 'http://someone:p%2Fw@proxy:3128' }, service: true });
  const redact = redactor(config);
  for (const form of ['p%2Fw', 'p/w', 'someone:p%2Fw', btoa('someone:p/w')]) expect(redact(`<${form}>`)).toBe('<***>');
  expect(redact('proxy:3128')).toBe('proxy:3128');
});
