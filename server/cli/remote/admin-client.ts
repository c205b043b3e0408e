/*
 * Calls the admin API of a running gateway, for commands with `--server`. A redirect is not followed, since the key would
 * go with it. An answer has 30 seconds and 16 MiB. Failures are one line that says what to do: the gateway does not
 * answer, it is none, or the key has no access. A list is read to its end, at most 10,000 rows.
 */

import { isRecord } from '../../../core/runtime/index.js';
import { sanitizeForTerminal } from '../../format/index.js';
import { CommandFailure, CommandMistake } from '../mistakes.js';

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 16 * 1024 * 1024;
const PAGE = 200;
const MAX_ROWS = 10_000;
/** The key, where the command line does not have it: other users of a machine see command lines. */
export const KEY_VARIABLE = 'MEDIAGATE_KEY';

export type Json = Readonly<Record<string, unknown>>;
export type RemoteQuery = Readonly<Record<string, string | undefined>>;

/** The admin API of one gateway. Every method throws CommandFailure. */
export class AdminClient {
  readonly #server: string;
  readonly #key: string;

  /** @throws CommandMistake if the address or the key cannot be used. */
  constructor(server: string, key: string | undefined) {
    const url = URL.parse(server);
    if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.username !== '') {
      throw new CommandMistake('--server must be the address of a gateway, such as https://gateway.example.');
    }
    if (key === undefined || !/^[\x21-\x7e]{1,200}$/.test(key)) {
      const how = `Give it with --key, or better in the variable ${KEY_VARIABLE}.`;
      throw new CommandMistake(`--server needs a key with the grant admin. ${how}`);
    }
    this.#server = url.href.replace(/\/+(?:v1\/?)?$/, '');
    this.#key = key;
  }

  get(path: string, query: RemoteQuery = {}): Promise<Json> {
    const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const search = new URLSearchParams(given).toString();
    return this.#send('GET', search === '' ? path : `${path}?${search}`);
  }

  post(path: string, body: object): Promise<Json> {
    return this.#send('POST', path, body);
  }

  delete(path: string): Promise<Json> {
    return this.#send('DELETE', path);
  }

  /** The rows of a list, over its pages. @param max Maximum rows. Default 10,000. */
  async list(path: string, query: RemoteQuery = {}, max = MAX_ROWS): Promise<Json[]> {
    const rows: Json[] = [];
    for (let after: string | undefined; ; ) {
      const limit = String(Math.min(PAGE, max - rows.length));
      const page = await this.get(path, { ...query, limit, ...(after !== undefined && { after }) });
      rows.push(...((page.data as Json[] | undefined) ?? []));
      if (typeof page.next !== 'string' || rows.length >= max) return rows;
      after = page.next;
    }
  }

  async #send(method: string, path: string, body?: object): Promise<Json> {
    const url = `${this.#server}/v1/admin${path}`;
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      throw this.#unreachable(error);
    });
    const text = await readText(response).catch((error: unknown) => {
      throw this.#unreachable(error);
    });
    const json = parse(text);
    if (response.ok && json) return json;
    throw this.#failure(response.status, json);
  }

  #unreachable(error: unknown): CommandFailure {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const reason =
      cause instanceof Error && cause.name === 'TimeoutError' ? 'no answer in 30 seconds' : code || String(cause);
    return new CommandFailure(
      `${this.#server} does not answer (${reason}). Check the address, and that the gateway runs.`,
    );
  }

  #failure(status: number, json: Json | undefined): CommandFailure {
    const error = isRecord(json?.error) ? json.error : undefined;
    const message = typeof error?.message === 'string' ? sanitizeForTerminal(error.message) : undefined;
    if (error?.code === 'route_not_found') {
      const advice = '"mediagate keys create --grant admin" on its machine makes such a key.';
      return new CommandFailure(`${this.#server} does not accept this key: the grant admin is needed. ${advice}`);
    }
    if (message !== undefined) return new CommandFailure(message);
    const where = status >= 300 && status < 400 ? 'It redirects elsewhere.' : `It answered with status ${status}.`;
    return new CommandFailure(`${this.#server} is no gateway with an admin API. ${where}`);
  }
}

async function readText(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > MAX_BYTES) throw new Error('more than 16 MiB');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function parse(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
