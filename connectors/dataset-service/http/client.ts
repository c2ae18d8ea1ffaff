/** Requests to the service: the key, redirects to files, and every failure as a DomainsyncError that never shows the key. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Dispatcher, request } from 'undici';
import { asDomainsyncError, DomainsyncError, type ErrorCode } from '../../../src/common/errors.ts';
import type { RateLimiter, RateNews, ServiceRoute } from '../../../src/types/index.ts';
import type { KeyCase } from '../api/key-case.ts';
import { createAgent, describeProxy, type ProxySettings } from './agent.ts';
import { hintFor, isLasting, networkHint } from './error-hints.ts';
import { rateNews } from './rate-limit-headers.ts';
import { isRedirect, judgeRedirect, MAX_REDIRECTS, shownUrl, urlNamed } from './redirects.ts';
import { errorMessage, isDownload, isHtml, isPage, reasonOf, statusCode } from './statuses.ts';

/** Of an error's body, as much is read. */
const ERROR_BODY_BYTES = 16 * 1024;
/** Of what the service wrote, as much is quoted. */
const QUOTED_CHARACTERS = 300;
/** An error's body that does not come is done without. */
const ERROR_BODY_MS = 5_000;
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
  /** Every request to the service passes it. */
  readonly limiter: RateLimiter;
  /** Undefined: connections are direct. */
  readonly proxy?: ProxySettings | undefined;
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

/** One request on the way to an answer. */
interface Hop {
  readonly url: URL;
  /** Another server's: it gets no key, and knows nothing of rate limits and access. */
  readonly foreign: boolean;
}

/** What is known of a refusal beside the answer itself. */
interface Refused {
  /** What it means, where the status does not say it. */
  readonly known: ErrorCode | null;
  /** Of a redirect: where it leads, and why it is not followed. */
  readonly refused: string;
  readonly said: string;
  readonly news: RateNews;
  readonly route: ServiceRoute;
}

/** What a request came to: an answer, or another place to ask. */
type Step = { readonly answer: Answer } | { readonly url: URL; readonly sure: boolean };

export class Client {
  /** How the service writes countries in paths, as far as it has shown. */
  readonly countryCases = new Map<ServiceRoute, KeyCase>();
  readonly #base: string;
  readonly #service: URL;
  readonly #apiKey: string | undefined;
  readonly #limiter: RateLimiter;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #proxy: string;
  readonly #agent: Dispatcher;
  /** Origins of other servers that sent files: what they answer is no sign-in page. */
  readonly #fileServers = new Set<string>();

  /** @throws CONFIG_INVALID when the url is none, or the key cannot stand in a header */
  constructor({ url, apiKey, userAgent, limiter, proxy }: ClientOptions) {
    if (apiKey !== undefined && !/^[\x21-\x7e]+$/u.test(apiKey)) {
      throw new DomainsyncError('CONFIG_INVALID', 'service.apiKey is empty or holds characters that no key has');
    }
    if (!URL.canParse(url)) throw new DomainsyncError('CONFIG_INVALID', 'service.url is no URL');
    this.#service = new URL(url);
    this.#base = `${this.#service.origin}${this.#service.pathname.replace(/\/+$/u, '')}`;
    this.#apiKey = apiKey;
    this.#limiter = limiter;
    this.#proxy = proxy === undefined ? '' : describeProxy(this.#service.hostname, proxy);
    this.#agent = createAgent(proxy);
    // A range of an encoded answer would be a range of the encoding.
    this.#headers = { 'accept-encoding': 'identity', 'user-agent': userAgent };
  }

  /**
   * One GET, no retries. Redirects are followed on download routes only (redirects.ts says which), from the service's own
   * URL each time: what they lead to may be signed for minutes. Waits first where the rate limit asks for that.
   * @throws SOURCE_KEY_REJECTED, SOURCE_IP_BLOCKED, SOURCE_NO_ACCESS, SOURCE_NOT_FOUND, SOURCE_RATE_LIMITED,
   * SOURCE_UNAVAILABLE, SOURCE_UNEXPECTED, INTERRUPTED
   */
  async get(path: string, options: GetOptions): Promise<Answer> {
    let hop: Hop = { url: new URL(`${this.#base}${path}`), foreign: false };
    // Where a redirect led that may have meant that the key was not taken.
    let doubtful: URL | null = null;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      let step: Step;
      try {
        step = await this.#step(hop, options);
      } catch (error) {
        throw doubtful === null || options.signal.aborted ? error : this.#signIn(path, doubtful, error);
      }
      if ('answer' in step) {
        if (doubtful === null) return step.answer;
        if (!isFile(step.answer)) {
          step.answer.body.destroy();
          throw this.#signIn(path, doubtful);
        }
        this.#fileServers.add(doubtful.origin);
        return step.answer;
      }
      if (!step.sure && !this.#fileServers.has(step.url.origin)) doubtful ??= step.url;
      // Once elsewhere, the key stays at home, also where the way leads back.
      hop = { url: step.url, foreign: hop.foreign || step.url.origin !== this.#service.origin };
    }
    throw this.error('SOURCE_UNEXPECTED', `${this.#base}${path} redirects more than ${MAX_REDIRECTS} times`);
  }

  /** An error whose message and hint may quote the service: on one line, and without the key, wherever it stood. */
  error(
    code: ErrorCode,
    message: string,
    options: ConstructorParameters<typeof DomainsyncError>[2] = {},
  ): DomainsyncError {
    const hint = options.hint === undefined ? {} : { hint: this.#clean(options.hint) };
    return new DomainsyncError(code, this.#clean(message), { ...options, ...hint });
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
    const hint = networkHint(thrown, this.#service, this.#proxy);
    return this.error('SOURCE_UNAVAILABLE', `${doing}: ${reasonOf(thrown)}`, {
      cause: thrown,
      ...(hint === undefined ? {} : { hint }),
      // No wait would be long enough, so that nobody waits.
      ...(isLasting(thrown) ? { retryAfter: Number.POSITIVE_INFINITY } : {}),
    });
  }

  /** Breaks off what is under way. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** One request. @throws unless its status is accepted, or it sends on */
  async #step(hop: Hop, options: GetOptions): Promise<Step> {
    const { accept, route, signal } = options;
    if (!hop.foreign) await this.#limiter.acquire(route, signal);
    const answer = await this.#request(hop, options);
    const news = rateNews(answer.status, answer.header, Date.now());
    try {
      if (!hop.foreign) await this.#limiter.told(route, news);
    } catch (error) {
      answer.body.destroy();
      throw error;
    }
    if (accept.includes(answer.status)) return { answer };
    let refused = '';
    let known: ErrorCode | null = null;
    if (isRedirect(answer.status)) {
      const location = answer.header('location');
      const at = { status: answer.status, location, from: hop.url, service: this.#service, apiKey: this.#apiKey };
      const redirect = isDownload(route) ? judgeRedirect(at) : null;
      if (redirect?.kind === 'follow') {
        answer.body.destroy();
        return redirect;
      }
      const where = location === null ? '' : ` to ${this.quote(withoutQuery(location))}`;
      if (redirect?.kind === 'refuse') {
        refused = `, ${redirect.reason}${where}`;
        known = 'SOURCE_UNEXPECTED';
      } else if (where !== '') refused = `, a redirect${where}${redirect === null ? ', which is not followed' : ''}`;
    }
    const said = await this.#errorText(answer, signal);
    if (signal.aborted) throw asDomainsyncError(signal.reason);
    throw this.#refusal(hop, answer, { known, refused, said, news, route });
  }

  async #request(hop: Hop, { headers = {}, signal }: GetOptions): Promise<Answer> {
    const key = this.#apiKey === undefined || hop.foreign ? {} : { authorization: `Bearer ${this.#apiKey}` };
    try {
      const response = await request(hop.url, {
        dispatcher: this.#agent,
        headers: { ...key, ...this.#headers, ...headers },
        headersTimeout: HEADERS_MS,
        // It is suspended under back-pressure (nodejs/undici#5393), so bodies have a watchdog of their own.
        bodyTimeout: 0,
        signal,
      });
      // A body that is destroyed reports that as an error, which nobody else may be listening for.
      response.body.on('error', () => {});
      const header = (name: string): string | null => {
        const value = response.headers[name];
        return (Array.isArray(value) ? value[0] : value) ?? null;
      };
      return { status: response.statusCode, header: urlNamed(hop.url, header), body: response.body };
    } catch (error) {
      throw this.networkError(`no answer from ${shownUrl(hop.url)}`, error, signal);
    }
  }

  /** What the body of an error says, `{ "error": ... }` or other text. */
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
    return errorMessage(Buffer.concat(parts).toString('utf8', 0, end));
  }

  #refusal({ url, foreign }: Hop, answer: Answer, { known, refused, said, news, route }: Refused): DomainsyncError {
    const { status } = answer;
    const code = known ?? statusCode({ status, route, said, foreign });
    // Rate-limit headers come with every answer (service-spec 7); only where the limit is used up do they ask to wait.
    const asked = news.retryAfterMs ?? (news.limited ? news.resetMs : null);
    const retryAfter = news.limited || status >= 500 ? asked : null;
    const who = foreign ? `${shownUrl(url)}, to which the service sends on,` : shownUrl(url);
    const page = isHtml(answer.header('content-type'));
    const elsewhere = url.pathname.startsWith(`${new URL(this.#base).pathname.replace(/\/$/u, '')}/api/`)
      ? url.origin
      : null;
    const hint = hintFor(code, { status, route, withKey: this.#apiKey !== undefined, page, foreign, elsewhere });
    const quoted = said === '' ? '' : `; it says ${this.quote(said)}`;
    return this.error(code, `${who} answered ${status}${refused}${quoted}`, {
      ...(retryAfter === null ? {} : { retryAfter }),
      ...(hint === undefined ? {} : { hint }),
    });
  }

  /** A 302 that led to no file: the key was not taken (service-spec 5). */
  #signIn(path: string, to: URL, cause?: unknown): DomainsyncError {
    const where = this.quote(shownUrl(to));
    const message = `${this.#base}${path} answered 302, a redirect to ${where}, from which no file comes`;
    return this.error('SOURCE_KEY_REJECTED', message, cause === undefined ? {} : { cause });
  }

  #clean(text: string): string {
    const keyless = this.#apiKey === undefined ? text : text.replaceAll(this.#apiKey, '[key]');
    return keyless.replace(CONTROL, ' ');
  }
}

/** Whether an answer is about a file: what is no file has no name, or says that it is a page. */
function isFile(answer: Answer): boolean {
  if (answer.status === 416) return answer.header('content-range') !== null;
  return answer.header('content-disposition') !== null && !isPage(answer.header('content-type'));
}

/** A redirect's query may hold a signature. */
function withoutQuery(location: string): string {
  return location.replace(/[?#].*$/su, '').replace(/\/\/[^/@]*@/u, '//');
}
