/** Signing in to the status page: a cookie that proves that its bearer knew the token, and is not the token. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const COOKIE = 'domainsync_session';
const LASTS_SECONDS = 12 * 3600;

/** Stateless, so that a cookie is good at every worker with the same token, and none is when the token is changed. */
export class Sessions {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  /** In a time that does not tell how much of it was right. */
  isToken(candidate: string): boolean {
    return timingSafeEqual(digest(candidate), digest(this.#token));
  }

  /** Value of a Set-Cookie header. @param secure whether the browser came by https */
  cookie(secure: boolean): string {
    const expires = Math.floor(Date.now() / 1000) + LASTS_SECONDS;
    const content = `${expires}.${randomBytes(16).toString('base64url')}`;
    return setCookie(`${content}.${this.#sign(content)}`, LASTS_SECONDS, secure);
  }

  /** Takes the cookie away. */
  noCookie(secure: boolean): string {
    return setCookie('', 0, secure);
  }

  /** Whether a Cookie header holds a session that was given out and has not run out. */
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

/** Of one length, whatever is compared. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
