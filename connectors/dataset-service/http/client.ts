/**
 * Room `http/`: one request at a time. It adds the key, keeps the rate limits, follows redirects to files, and turns every
 * failure into a DomainsyncError that never shows the key. It knows no retries, documents or files: those are `api/` and
 * `download/`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Dispatcher, request } from 'undici';
import { asDomainsyncError, DomainsyncError, type ErrorCode } from '../../../src/common/errors.ts';
import type { RateLimiter, RateLimitReport, ServiceRoute } from '../../../src/types/index.ts';
import { isDownload } from '../endpoints.ts';
import { createAgent, describeProxy, type ProxySettings } from './agent.ts';
import { errorMessage, isFile, isHtml } from './content.ts';
import { statusHint } from './error-hints.ts';
import { isLasting, networkHint, reasonOf } from './network-errors.ts';
import { parseRateLimit } from './rate-limit-headers.ts';
import { isRedirect, judgeRedirect, MAX_REDIRECTS, shownLocation, shownUrl, urlNamed } from './redirects.ts';
import { statusCode } from './statuses.ts';

/** The most that is read of an error's body. */
const ERROR_BODY_BYTES = 16 * 1024;
/** The most that is quoted of a text of the service. */
const QUOTED_CHARACTERS = 300;
/** The longest wait for an error's body. */
const ERROR_BODY_MS = 5_000;
/** The service may have to look for a large file before it answers. */
const HEADERS_MS = 60_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it removes control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu;

/** The case of countries' keys in paths. */
export type KeyCase = 'lower' | 'upper';

interface ClientOptions {
  /** {base_url} of the service; a path in it is kept. */
  readonly url: string;
  /** Undefined: only public endpoints can be used. */
  readonly apiKey: string | undefined;
  readonly userAgent: string;
  /** Every request to the service waits for it. */
  readonly limiter: RateLimiter;
  /** Undefined: connections are direct. */
  readonly proxy?: ProxySettings | undefined;
}

/** A response with a status that the caller accepts. Its body must be read to its end or destroyed. */
export interface HttpResponse {
  readonly status: number;
  /** A header by its name in lower case. */
  header(name: string): string | null;
  readonly body: Dispatcher.ResponseData['body'];
}

interface GetOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses that are not failures. */
  readonly accept: readonly number[];
  /** Its rate limit counts the request. */
  readonly route: ServiceRoute;
  readonly signal: AbortSignal;
}

/** One request on the way through redirects. */
interface Hop {
  readonly url: URL;
  /** The URL is another server's, which gets no key and knows nothing of rate limits and access. */
  readonly foreign: boolean;
}

/** What is known of a failed response beside the response itself. */
interface Failure {
  /** The error that it is; null: the status decides. */
  readonly code: ErrorCode | null;
  /** Where a redirect leads, and why it is not followed; else empty. */
  readonly redirect: string;
  /** The message of the body. */
  readonly message: string;
  readonly report: RateLimitReport;
  readonly route: ServiceRoute;
}

/** What one request leads to: a response, or the URL of the next request. */
type Step = { readonly response: HttpResponse } | { readonly url: URL; readonly sure: boolean };

export class Client {
  /** The case in which the service knew a country last, by route (api/key-case.ts). */
  readonly countryCases = new Map<ServiceRoute, KeyCase>();
  readonly #base: string;
  readonly #service: URL;
  readonly #apiKey: string | undefined;
  readonly #limiter: RateLimiter;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #proxy: string;
  readonly #agent: Dispatcher;
  /** Origins of other servers that sent files. A redirect to one of them leads to no sign-in page. */
  readonly #fileServers = new Set<string>();

  /** @throws CONFIG_INVALID when the URL is not valid, or the key cannot stand in a header */
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
    // A range of an encoded response would be a range of the encoding.
    this.#headers = { 'accept-encoding': 'identity', 'user-agent': userAgent };
  }

  /**
   * Sends one GET, without retries. Waits first where the rate limit asks for it. Follows redirects on download routes only
   * (see redirects.ts), always from the service's own URL: the URL that they lead to may be signed for minutes only.
   * @throws SOURCE_KEY_REJECTED, SOURCE_IP_BLOCKED, SOURCE_NO_ACCESS, SOURCE_NOT_FOUND, SOURCE_RATE_LIMITED,
   * SOURCE_UNAVAILABLE, SOURCE_UNEXPECTED, INTERRUPTED
   */
  async get(path: string, options: GetOptions): Promise<HttpResponse> {
    let hop: Hop = { url: new URL(`${this.#base}${path}`), foreign: false };
    // The target of a redirect that may have meant that the key was not accepted.
    let doubtful: URL | null = null;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      let step: Step;
      try {
        step = await this.#step(hop, options);
      } catch (error) {
        throw doubtful === null || options.signal.aborted ? error : this.#signIn(path, doubtful, error);
      }
      if ('response' in step) {
        if (doubtful === null) return step.response;
        if (!isFile(step.response)) {
          step.response.body.destroy();
          throw this.#signIn(path, doubtful);
        }
        this.#fileServers.add(doubtful.origin);
        return step.response;
      }
      if (!step.sure && !this.#fileServers.has(step.url.origin)) doubtful ??= step.url;
      // After a hop to another server the key is not sent any more, also where a redirect leads back.
      hop = { url: step.url, foreign: hop.foreign || step.url.origin !== this.#service.origin };
    }
    throw this.error('SOURCE_UNEXPECTED', `${this.#base}${path} redirects more than ${MAX_REDIRECTS} times`);
  }

  /** An error whose message and hint may quote the service. Both are made one line, and the key is taken out of them. */
  error(
    code: ErrorCode,
    message: string,
    options: ConstructorParameters<typeof DomainsyncError>[2] = {},
  ): DomainsyncError {
    const hint = options.hint === undefined ? {} : { hint: this.#clean(options.hint) };
    return new DomainsyncError(code, this.#clean(message), { ...options, ...hint });
  }

  /** A text of the service, short enough to be quoted. */
  quote(text: string): string {
    const clean = this.#clean(text).trim();
    return `"${clean.length > QUOTED_CHARACTERS ? `${clean.slice(0, QUOTED_CHARACTERS)}...` : clean}"`;
  }

  /** The error of a connection that broke: an abort is INTERRUPTED, anything else SOURCE_UNAVAILABLE. */
  networkError(doing: string, thrown: unknown, signal: AbortSignal): DomainsyncError {
    if (thrown instanceof DomainsyncError) return thrown;
    if (signal.aborted) return asDomainsyncError(signal.reason);
    const hint = networkHint(thrown, this.#service, this.#proxy);
    return this.error('SOURCE_UNAVAILABLE', `${doing}: ${reasonOf(thrown)}`, {
      cause: thrown,
      ...(hint === undefined ? {} : { hint }),
      // An infinite wait: no retry helps, so none is made.
      ...(isLasting(thrown) ? { retryAfter: Number.POSITIVE_INFINITY } : {}),
    });
  }

  /** Ends the requests that are in progress. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** Sends one request. @throws unless its status is accepted, or a redirect is followed */
  async #step(hop: Hop, options: GetOptions): Promise<Step> {
    const { accept, route, signal } = options;
    if (!hop.foreign) await this.#limiter.acquire(route, signal);
    const response = await this.#request(hop, options);
    const report = parseRateLimit(response.status, response.header, Date.now());
    try {
      if (!hop.foreign) await this.#limiter.report(route, report);
    } catch (error) {
      response.body.destroy();
      throw error;
    }
    if (accept.includes(response.status)) return { response };
    let redirect = '';
    let code: ErrorCode | null = null;
    if (isRedirect(response.status)) {
      const location = response.header('location');
      const at = { status: response.status, location, from: hop.url, service: this.#service, apiKey: this.#apiKey };
      const verdict = isDownload(route) ? judgeRedirect(at) : null;
      if (verdict?.kind === 'follow') {
        response.body.destroy();
        return verdict;
      }
      const where = location === null ? '' : ` to ${this.quote(shownLocation(location))}`;
      if (verdict?.kind === 'refuse') {
        redirect = `, ${verdict.reason}${where}`;
        code = 'SOURCE_UNEXPECTED';
      } else if (where !== '') redirect = `, a redirect${where}${verdict === null ? ', which is not followed' : ''}`;
    }
    const message = await this.#errorText(response, signal);
    if (signal.aborted) throw asDomainsyncError(signal.reason);
    throw this.#statusError(hop, response, { code, redirect, message, report, route });
  }

  async #request(hop: Hop, { headers = {}, signal }: GetOptions): Promise<HttpResponse> {
    const key = this.#apiKey === undefined || hop.foreign ? {} : { authorization: `Bearer ${this.#apiKey}` };
    try {
      const response = await request(hop.url, {
        dispatcher: this.#agent,
        headers: { ...key, ...this.#headers, ...headers },
        headersTimeout: HEADERS_MS,
        // undici suspends this timeout under back-pressure (nodejs/undici#5393), so watched-body.ts has a watchdog.
        bodyTimeout: 0,
        signal,
      });
      // A destroyed body emits an error, which without a listener would end the process.
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

  /** The message in the body of an error, `{ "error": ... }` or other text. */
  async #errorText({ body }: HttpResponse, signal: AbortSignal): Promise<string> {
    const stop = new AbortController();
    const late = sleep(ERROR_BODY_MS, undefined, { signal: AbortSignal.any([signal, stop.signal]) }).catch(() => {});
    void late.then(() => body.destroy());
    const parts: Buffer[] = [];
    let length = 0;
    try {
      for await (const part of body as AsyncIterable<Buffer>) {
        parts.push(part);
        length += part.length;
        if (length >= ERROR_BODY_BYTES) break;
      }
    } catch {
      // The status is enough.
    } finally {
      stop.abort();
    }
    // A body that is cut off may end with a part of the key, which #clean would not recognise.
    const end = length < ERROR_BODY_BYTES ? length : ERROR_BODY_BYTES - (this.#apiKey?.length ?? 0);
    return errorMessage(Buffer.concat(parts).toString('utf8', 0, end));
  }

  #statusError({ url, foreign }: Hop, response: HttpResponse, failure: Failure): DomainsyncError {
    const { redirect, message, report, route } = failure;
    const { status } = response;
    const code = failure.code ?? statusCode({ status, route, message, foreign });
    // Every response has rate-limit headers (docs/service.md, "Errors"). They ask to wait only when the limit is used up.
    const asked = report.retryAfterMs ?? (report.limited ? report.resetMs : null);
    const retryAfter = report.limited || status >= 500 ? asked : null;
    const who = foreign ? `${shownUrl(url)}, to which the service sends on,` : shownUrl(url);
    const page = isHtml(response.header('content-type'));
    const elsewhere = url.pathname.startsWith(`${new URL(this.#base).pathname.replace(/\/$/u, '')}/api/`)
      ? url.origin
      : null;
    const hint = statusHint(code, { status, route, withKey: this.#apiKey !== undefined, page, foreign, elsewhere });
    const quoted = message === '' ? '' : `; it says ${this.quote(message)}`;
    return this.error(code, `${who} answered ${status}${redirect}${quoted}`, {
      ...(retryAfter === null ? {} : { retryAfter }),
      ...(hint === undefined ? {} : { hint }),
    });
  }

  /** A 302 that led to no file: the service did not accept the key (docs/service.md, "Authentication"). */
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
