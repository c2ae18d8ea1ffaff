/** Requests to the service: the key, no redirects, and every failure as a DomainsyncError that never shows the key. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, type Dispatcher, request } from 'undici';
import { asDomainsyncError, DomainsyncError, type ErrorCode } from '../../src/errors.ts';
import type { RateLimiter, RateNews, ServiceRoute } from '../../src/types.ts';
import { hintFor } from './hints.ts';
import { rateNews } from './limits.ts';

/** Of an error's body, as much is read. */
const ERROR_BODY_BYTES = 16 * 1024;
/** Of what the service wrote, as much is quoted. */
const QUOTED_CHARACTERS = 300;
/** An error's body that does not come is done without. */
const ERROR_BODY_MS = 5_000;
const CONNECT_MS = 10_000;
/** The service may have to look for a large file before it answers. */
const HEADERS_MS = 60_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it takes away
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu;

export interface ClientOptions {
  /** {base_url} of the service; a path in it is kept. */
  readonly url: string;
  /** Undefined: nothing but what is public can be asked for. */
  readonly apiKey: string | undefined;
  readonly userAgent: string;
  /** Every request passes it. */
  readonly limiter: RateLimiter;
}

/** An answer whose status is one of those that the caller takes. Its body must be read to its end or destroyed. */
export interface Answer {
  readonly status: number;
  /** A header by its name in lower case. */
  header(name: string): string | null;
  readonly body: Dispatcher.ResponseData['body'];
}

export interface GetOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses that are no failure. */
  readonly accept: readonly number[];
  /** Whose rate limit it counts against. */
  readonly route: ServiceRoute;
  readonly signal: AbortSignal;
}

export class Client {
  readonly #base: string;
  readonly #apiKey: string | undefined;
  readonly #limiter: RateLimiter;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #agent = new Agent({
    allowH2: false,
    connect: { timeout: CONNECT_MS },
    headersTimeout: HEADERS_MS,
    // It is suspended under back-pressure (nodejs/undici#5393), so bodies have a watchdog of their own.
    bodyTimeout: 0,
  });

  /** @throws CONFIG_INVALID when the url is none, or the key cannot stand in a header */
  constructor({ url, apiKey, userAgent, limiter }: ClientOptions) {
    if (apiKey !== undefined && !/^[\x21-\x7e]+$/u.test(apiKey)) {
      throw new DomainsyncError('CONFIG_INVALID', 'service.apiKey is empty or holds characters that no key has');
    }
    if (!URL.canParse(url)) throw new DomainsyncError('CONFIG_INVALID', 'service.url is no URL');
    const base = new URL(url);
    this.#base = `${base.protocol}//${base.host}${base.pathname.replace(/\/+$/u, '')}`;
    this.#apiKey = apiKey;
    this.#limiter = limiter;
    this.#headers = {
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      // A range of an encoded answer would be a range of the encoding.
      'accept-encoding': 'identity',
      'user-agent': userAgent,
    };
  }

  /**
   * One GET, no retries, no redirects followed. Waits before it is sent where the rate limit asks for that.
   * @throws SOURCE_KEY_REJECTED, SOURCE_NO_ACCESS, SOURCE_NOT_FOUND, SOURCE_RATE_LIMITED, SOURCE_UNAVAILABLE,
   * SOURCE_UNEXPECTED, INTERRUPTED
   */
  async get(path: string, { headers = {}, accept, route, signal }: GetOptions): Promise<Answer> {
    await this.#limiter.acquire(route, signal);
    const answer = await this.#request(path, headers, signal);
    const news = rateNews(answer.status, answer.header, Date.now());
    try {
      await this.#limiter.told(route, news);
    } catch (error) {
      answer.body.destroy();
      throw error;
    }
    if (accept.includes(answer.status)) return answer;
    const said = await this.#errorText(answer, signal);
    if (signal.aborted) throw asDomainsyncError(signal.reason);
    throw this.#statusError(path, answer, said, route, news);
  }

  /** An error whose message may quote the service: on one line, and without the key, wherever it stood. */
  error(
    code: ErrorCode,
    message: string,
    options: ConstructorParameters<typeof DomainsyncError>[2] = {},
  ): DomainsyncError {
    return new DomainsyncError(code, this.#clean(message), options);
  }

  /** What the service wrote, short enough to be quoted. */
  quote(text: string): string {
    const clean = this.#clean(text).trim();
    return `"${clean.length > QUOTED_CHARACTERS ? `${clean.slice(0, QUOTED_CHARACTERS)}...` : clean}"`;
  }

  /** What broke while talking to the service: an abort is INTERRUPTED, anything else SOURCE_UNAVAILABLE. */
  networkError(doing: string, thrown: unknown, signal: AbortSignal): DomainsyncError {
    if (thrown instanceof DomainsyncError) return thrown;
    if (signal.aborted) return asDomainsyncError(signal.reason);
    return this.error('SOURCE_UNAVAILABLE', `${doing}: ${reasonOf(thrown)}`, { cause: thrown });
  }

  /** Breaks off what is under way. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #request(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Answer> {
    try {
      const response = await request(`${this.#base}${path}`, {
        dispatcher: this.#agent,
        headers: { ...this.#headers, ...headers },
        signal,
      });
      // A body that is destroyed reports that as an error, which nobody else may be listening for.
      response.body.on('error', () => {});
      return {
        status: response.statusCode,
        header: (name) => {
          const value = response.headers[name];
          return (Array.isArray(value) ? value[0] : value) ?? null;
        },
        body: response.body,
      };
    } catch (error) {
      throw this.networkError(`no answer from ${this.#base}${path}`, error, signal);
    }
  }

  /** What the body of an error says, `{ "error": ... }` or other text, ready to be put behind a message. */
  async #errorText(answer: Answer, signal: AbortSignal): Promise<string> {
    const stop = new AbortController();
    const late = sleep(ERROR_BODY_MS, undefined, { signal: AbortSignal.any([signal, stop.signal]) }).catch(() => {});
    void late.then(() => answer.body.destroy());
    const parts: Buffer[] = [];
    let length = 0;
    try {
      for await (const part of answer.body as AsyncIterable<Buffer>) {
        parts.push(part);
        length += part.length;
        if (length >= ERROR_BODY_BYTES) break;
      }
    } catch {
      // The status says enough.
    } finally {
      stop.abort();
    }
    // Where the body was cut off, half of the key may stand at its end, which would not be seen to be the key.
    const end = length < ERROR_BODY_BYTES ? length : ERROR_BODY_BYTES - (this.#apiKey?.length ?? 0);
    const text = errorMessage(Buffer.concat(parts).toString('utf8', 0, end));
    return text === '' ? '' : `; it says ${this.quote(text)}`;
  }

  #statusError(path: string, answer: Answer, said: string, route: ServiceRoute, news: RateNews): DomainsyncError {
    const { status } = answer;
    const code = statusCode(status, route);
    // Rate-limit headers come with every answer (service-spec 7); only where the limit is used up do they ask to wait.
    const asked = news.retryAfterMs ?? (news.limited ? news.resetMs : null);
    const retryAfter = news.limited || status >= 500 ? asked : null;
    const location = status >= 300 && status < 400 && code === 'SOURCE_UNEXPECTED' ? answer.header('location') : null;
    const redirect =
      location === null ? '' : `, a redirect to ${this.quote(withoutQuery(location))}, which is not followed`;
    const hint = hintFor(code, route, this.#apiKey !== undefined);
    return this.error(code, `${this.#base}${path} answered ${status}${redirect}${said}`, {
      ...(retryAfter === null ? {} : { retryAfter }),
      ...(hint === undefined ? {} : { hint }),
    });
  }

  #clean(text: string): string {
    const keyless = this.#apiKey === undefined ? text : text.replaceAll(this.#apiKey, '[key]');
    return keyless.replace(CONTROL, ' ');
  }
}

/** What a status means (service-spec 7). */
function statusCode(status: number, route: ServiceRoute): ErrorCode {
  // On a download route a 302 means that the key was not taken (service-spec 5).
  const download = route === 'download' || route === 'download-slice';
  if (status === 401 || (status === 302 && download)) return 'SOURCE_KEY_REJECTED';
  if (status === 403) return 'SOURCE_NO_ACCESS';
  if (status === 404 || status === 410) return 'SOURCE_NOT_FOUND';
  if (status === 429) return 'SOURCE_RATE_LIMITED';
  // 408 and 425 ask to try again, as the 5xx do.
  return status >= 500 || status === 408 || status === 425 ? 'SOURCE_UNAVAILABLE' : 'SOURCE_UNEXPECTED';
}

/** The text of `{ "error": ... }`, also where the body was cut off inside it; of anything else, its words. */
function errorMessage(body: string): string {
  const [, text] = /^\s*\{\s*"error"\s*:\s*"((?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-f]{4}))*)/iu.exec(body) ?? [];
  try {
    if (text !== undefined) return String(JSON.parse(`"${text}"`));
  } catch {
    // A control character stood in it as it is: not JSON after all.
  }
  return body
    .replace(/<[^>]*>/gu, ' ')
    .replace(/\s+/gu, ' ')
    .trim();
}

/** A redirect's query may hold a signature. */
function withoutQuery(location: string): string {
  return location.replace(/[?#].*$/su, '').replace(/\/\/[^/@]*@/u, '//');
}

/** An error of several addresses tried hides its reasons in `errors`. */
function reasonOf(thrown: unknown): string {
  if (thrown instanceof AggregateError) return [...new Set(thrown.errors.map(reasonOf))].join(', ');
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.message === '' ? ((thrown as NodeJS.ErrnoException).code ?? thrown.name) : thrown.message;
}
