/** Sign-in to the status page: a cookie that proves its bearer knew the token without containing it. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const COOKIE = 'domainsync_session';
const LASTS_SECONDS = 12 * 3600;

/** Stateless: a cookie is valid at every worker with the same token, and none is valid after the token changes. */
export class Sessions {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  /** Constant-time comparison: the duration does not reveal how much was right. */
  isToken(candidate: string): boolean {
    return timingSafeEqual(digest(candidate), digest(this.#token));
  }

  /** Value of a Set-Cookie header. @param secure whether the browser uses https */
  cookie(secure: boolean): string {
    const expires = Math.floor(Date.now() / 1000) + LASTS_SECONDS;
    const content = `${expires}.${randomBytes(16).toString('base64url')}`;
    return setCookie(`${content}.${this.#sign(content)}`, LASTS_SECONDS, secure);
  }

  /** Deletes the cookie. */
  noCookie(secure: boolean): string {
    return setCookie('', 0, secure);
  }

  /** Whether a Cookie header holds a session that was issued and has not expired. */
  isCookie(header: string): boolean {
    const value = new RegExp(`(?:^|;\\s*)${COOKIE}=([^;]*)`).exec(header)?.[1] ?? '';
    const [expires = '', nonce = '', signature = ''] = value.split('.');
    const right = timingSafeEqual(digest(signature), digest(this.#sign(`${expires}.${nonce}`)));
    return right && Number(expires) * 1000 > Date.now();
  }

  #sign(content: string): string {
    return createHmac('sha256', this.#token).update(`domainsync session ${content}`).digest('base64url');
  }
}

function setCookie(value: string, seconds: number, secure: boolean): string {
  const attributes = [`${COOKIE}=${value}`, 'Path=/', `Max-Age=${seconds}`, 'HttpOnly', 'SameSite=Strict'];
  return [...attributes, ...(secure ? ['Secure'] : [])].join('; ');
}

/** Gives inputs of any length the same length, for comparison. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
