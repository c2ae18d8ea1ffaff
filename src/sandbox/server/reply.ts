/** A route's answer before it is sent. */

/** A part of a file, sent from disk and never held in memory. */
export interface FilePart {
  readonly path: string;
  readonly start: number;
  readonly length: number;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | FilePart;
}

export function bodyLength(body: Reply['body']): number {
  return body.length;
}

export function jsonReply(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return {
    status,
    headers: { ...headers, 'Content-Type': 'application/json; charset=utf-8' },
    body: Buffer.from(JSON.stringify(value)),
  };
}

/** An error in the service's shape (docs/service.md, "Errors"). */
export function errorReply(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return jsonReply(status, { error: message }, headers);
}
