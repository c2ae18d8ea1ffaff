/** Certificates from a CA made for a test: minimal X.509. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** DER: a tag, the length, the content. */
function der(tag: number, ...content: (Buffer | readonly number[])[]): Buffer {
  const body = Buffer.concat(content.map((part) => Buffer.from(part)));
  const { length } = body;
  const long = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...(length < 128 ? [length] : long)]), body]);
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);
const objectId = (...bytes: number[]): Buffer => der(0x06, bytes);
const ECDSA_SHA256 = sequence(objectId(0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2));

function commonName(name: string): Buffer {
  return sequence(der(0x31, sequence(objectId(0x55, 4, 3), der(0x0c, Buffer.from(name)))));
}

function time(date: Date): Buffer {
  return der(0x18, Buffer.from(`${date.toISOString().replace(/[-:T]|\.\d+/g, '')}`));
}

function extension(id: Buffer, value: Buffer, critical: boolean): Buffer {
  return sequence(id, ...(critical ? [der(0x01, [0xff])] : []), der(0x04, value));
}

function pem(label: string, bytes: Buffer): string {
  // An empty line, as after a last line that is full, is no PEM.
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

interface Certificate {
  readonly subject: string;
  readonly issuer: string;
  readonly key: KeyObject;
  readonly signer: KeyObject;
  readonly until: Date;
  readonly extensions: Buffer[];
}

function certificate({ subject, issuer, key, signer, until, extensions }: Certificate): string {
  const from = new Date(until.getTime() - 30 * 86_400_000);
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)]);
  const signed = sequence(
    der(0xa0, der(0x02, [2])),
    der(0x02, serial),
    ECDSA_SHA256,
    commonName(issuer),
    sequence(time(from), time(until)),
    commonName(subject),
    key.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', signed, signer);
  return pem('CERTIFICATE', sequence(signed, ECDSA_SHA256, der(0x03, [0], signature)));
}

/** PEM texts. */
export interface Authority {
  readonly ca: string;
  /** A certificate for 127.0.0.1, localhost and service.test, with its key; `expired`: one of last year. */
  issue(expired?: boolean): { readonly cert: string; readonly key: string };
}

/** A CA that nobody trusts who is not told to. */
export function createAuthority(): Authority {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = 'domainsync test CA';
  const soon = new Date(Date.now() + 86_400_000);
  const basic = extension(objectId(0x55, 0x1d, 0x13), sequence(der(0x01, [0xff])), true);
  const keyId = createHash('sha1')
    .update(own.publicKey.export({ type: 'spki', format: 'der' }))
    .digest();
  const subjectKeyId = extension(objectId(0x55, 0x1d, 0x0e), der(0x04, keyId), false);
  const ca = certificate({
    subject: issuer,
    issuer,
    key: own.publicKey,
    signer: own.privateKey,
    until: soon,
    extensions: [basic, subjectKeyId],
  });
  return {
    ca,
    issue(expired = false) {
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const hosts = ['localhost', 'service.test'].map((host) => der(0x82, Buffer.from(host)));
      const names = sequence(...hosts, der(0x87, [127, 0, 0, 1]));
      const cert = certificate({
        subject: 'localhost',
        issuer,
        key: pair.publicKey,
        signer: own.privateKey,
        until: expired ? new Date(Date.now() - 365 * 86_400_000) : soon,
        extensions: [
          extension(objectId(0x55, 0x1d, 0x11), names, false),
          extension(objectId(0x55, 0x1d, 0x23), sequence(der(0x80, keyId)), false),
        ],
      });
      return { cert, key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
    },
  };
}
