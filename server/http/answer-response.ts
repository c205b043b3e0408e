import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http';

const { ServerResponse } = process.getBuiltinModule('node:http');

/**
 * A response whose fields are written down one after the other where nobody looks for one of them before. Node keeps those
 * that are set one by one in a table, which takes several times as long as writing them.
 */
export class AnswerResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Names and values in turn, which are not in the table. */
  #fields: string[] = [];

  /** Adds a field, in the place of one of that name that was added before; one that is set goes before both. */
  addField(name: string, value: string): void {
    const fields = this.#fields;
    for (let index = 0; index < fields.length; index += 2) {
      if (!isSameName(fields[index] ?? '', name)) continue;
      fields[index + 1] = value;
      return;
    }
    fields.push(name, value);
  }

  /** Everything that begins an answer comes here, also where nobody asks for it. */
  override writeHead(
    status: number,
    reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
    headers?: OutgoingHttpHeaders | OutgoingHttpHeader[],
  ): this {
    const isAlone = reason === undefined && headers === undefined && super.getHeaderNames().length === 0;
    if (isAlone && !this.headersSent) {
      const fields = this.#fields;
      this.#fields = [];
      return super.writeHead(status, fields);
    }
    this.#setFields();
    if (typeof reason === 'string') return super.writeHead(status, reason, headers);
    return super.writeHead(status, reason ?? headers);
  }

  override hasHeader(name: string): boolean {
    this.#setFields();
    return super.hasHeader(name);
  }

  override getHeader(name: string): number | string | string[] | undefined {
    this.#setFields();
    return super.getHeader(name);
  }

  override getHeaders(): OutgoingHttpHeaders {
    this.#setFields();
    return super.getHeaders();
  }

  override getHeaderNames(): string[] {
    this.#setFields();
    return super.getHeaderNames();
  }

  override removeHeader(name: string): void {
    this.#setFields();
    super.removeHeader(name);
  }

  /** Puts them into the table, where they are found. */
  #setFields(): void {
    if (this.#fields.length === 0) return;
    const fields = this.#fields;
    this.#fields = [];
    for (let index = 0; index < fields.length; index += 2) {
      const name = fields[index] ?? '';
      if (!super.hasHeader(name)) this.setHeader(name, fields[index + 1] ?? '');
    }
  }
}

function isSameName(one: string, other: string): boolean {
  return one.length === other.length && (one === other || one.toLowerCase() === other.toLowerCase());
}

/** Adds a field to an answer that has not begun; to be set where one of that name may be set already. */
export function addField(response: InstanceType<typeof ServerResponse>, name: string, value: string): void {
  if (response instanceof AnswerResponse) response.addField(name, value);
  else response.setHeader(name, value);
}
