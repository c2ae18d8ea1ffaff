import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { asDomainsyncError, type DomainsyncError } from '../../src/common/errors.ts';

function thrownBy(action: () => unknown): DomainsyncError {
  try {
    action();
  } catch (error) {
    return asDomainsyncError(error);
  }
  throw new Error('nothing was thrown');
}

test('a missing key has a code of its own, and names what would hold it; with another fault it is one of them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-key-'));
  const path = join(folder, 'c.yaml');
  const told = async (text: string, env: Record<string, string> = {}): Promise<[string, string, string]> => {
    await writeFile(path, text);
    const { code, message, hint } = thrownBy(() => loadConfig({ path, env, cwd: folder, needs: { service: true } }));
    return [code, message.replace(path, 'FILE'), hint.replace(path, 'FILE')];
  };
  try {
    const account = 'keys are made in your account with the service, which shows each of them once.';
    for (const [key, what] of [
      ['', 'is missing'],
      [', apiKey:', 'is empty: give it a value or remove the line'],
      [', apiKey: ""', 'must not be empty'],
    ]) {
      expect(await told(`service: { url: https://s.example${key} }`)).toEqual([
        'SOURCE_KEY_MISSING',
        `FILE gives no API key: service.apiKey: ${what}`,
        `Set service.apiKey in FILE: ${account}`,
      ]);
    }
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the language of the configuration
    const text = 'service: { url: https://s.example, apiKey: "${MY_KEY}" }';
    const hint = `Set MY_KEY in the environment, or service.apiKey: ${account}`;
    expect(await told(text)).toEqual([
      'SOURCE_KEY_MISSING',
      'FILE gives no API key: service.apiKey: the environment variable MY_KEY is not set, and no default is given',
      hint,
    ]);
    expect(await told(text, { MY_KEY: '' })).toEqual([
      'SOURCE_KEY_MISSING',
      'FILE gives no API key: service.apiKey: must not be empty (it is read from MY_KEY)',
      hint,
    ]);
    expect((await told(text, { MY_KEY: 'a b' }))[0]).toBe('CONFIG_INVALID');
    expect((await told(`${text}\nmore: 1`))[0]).toBe('CONFIG_INVALID');
  } finally {
    await rm(folder, { recursive: true });
  }
});
