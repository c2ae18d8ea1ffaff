/** What a body is by its headers, and the message in the body of an error. Pure. */

/** Looks up a header by its name in lower case. */
export type HeaderOf = (name: string) => string | null;

const HTML = /^\s*(?:text\/html|application\/xhtml\+xml)/iu;
const JSON_OR_PARTS = /^\s*(?:application\/(?:[a-z.-]+\+)?json|multipart\/)/iu;

/** Whether a Content-Type is that of a page for people. The service sends none. */
export function isHtml(type: string | null): boolean {
  return type !== null && HTML.test(type);
}

/** Whether a Content-Type says page, JSON or multipart, so that the body is no file. Line-delimited JSON may be a file. */
export function isPage(type: string | null): boolean {
  return isHtml(type) || (type !== null && JSON_OR_PARTS.test(type));
}

/** Whether a response is about a file: it has a file's name, and is no page. */
export function isFile({ status, header }: { readonly status: number; readonly header: HeaderOf }): boolean {
  if (status === 416) return header('content-range') !== null;
  return header('content-disposition') !== null && !isPage(header('content-type'));
}

/** The text of `{ "error": ... }`, also where the body was cut off inside it; the words of any other body. */
export function errorMessage(body: string): string {
  const [, text] = /^\s*\{\s*"error"\s*:\s*"((?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-f]{4}))*)/iu.exec(body) ?? [];
  try {
    if (text !== undefined) return String(JSON.parse(`"${text}"`));
  } catch {
    // Not JSON: it has an unescaped control character.
  }
  return body
    .replace(/<[^>]*>/gu, ' ')
    .replace(/\s+/gu, ' ')
    .trim();
}
