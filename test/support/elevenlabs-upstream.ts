import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type ElevenlabsError, elevenlabsError, issueList } from './elevenlabs-error.js';
import { answerElevenlabs } from './elevenlabs-format.js';
import { type OriginServer, startOrigin } from './origin-server.js';
import { readForm, type SentFile } from './sent-form.js';
import { deliver, deliverFault, type VendorFault } from './vendor-delivery.js';

/** One request as the vendor saw it. */
export interface ElevenlabsRequest {
  /** As it was sent, without its query. */
  path: string;
  outputFormat: string | null;
  headers: Readonly<Record<string, string | undefined>>;
  /** JSON members, or text fields of the form. */
  members: Readonly<Record<string, unknown>>;
  files: readonly SentFile[];
  /** Resolves when its connection is closed before the answer is complete. */
  abandoned: Promise<void>;
}

/** What the vendor does with one request. */
export type ElevenlabsAnswer =
  | { does: 'work' }
  | ({ does: 'error' } & ElevenlabsError)
  /** The refusal of a schema check, status 422. */
  | { does: 'list'; issues: { loc: (string | number)[]; msg: string }[] }
  | { does: 'text'; status: number; body: string }
  | VendorFault;

export interface ElevenlabsOptions {
  apiKey: string;
  /** Leaves `character-cost` out. Default false. */
  silent?: boolean;
}

/** A server on loopback that speaks the vendor's format of speech, changed voices and effects, faults included. */
export interface ElevenlabsUpstream extends OriginServer {
  /** To be given as `url`. */
  readonly baseUrl: string;
  /** All that were understood, in the order they came. */
  readonly requests: readonly ElevenlabsRequest[];
  /** From the next request on; a list is used up one by one, and then all goes well again. */
  behave(answers: readonly ElevenlabsAnswer[] | ((request: ElevenlabsRequest) => ElevenlabsAnswer)): void;
  /** Forgets requests and behaviour. */
  reset(): void;
}

export async function startElevenlabsUpstream(options: ElevenlabsOptions): Promise<ElevenlabsUpstream> {
  let requests: ElevenlabsRequest[] = [];
  let behaviour: Parameters<ElevenlabsUpstream['behave']>[0] = [];
  let used = 0;

  async function answer(request: ElevenlabsRequest, response: ServerResponse): Promise<void> {
    const chosen: ElevenlabsAnswer =
      typeof behaviour === 'function' ? behaviour(request) : (behaviour[used++] ?? { does: 'work' });
    if (chosen.does === 'error') return deliver(response, elevenlabsError(chosen));
    if (chosen.does === 'list') return deliver(response, issueList(chosen.issues));
    if (chosen.does === 'text') {
      return deliver(response, { status: chosen.status, headers: { 'content-type': 'text/html' }, body: chosen.body });
    }
    const delivery =
      request.headers['xi-api-key'] === options.apiKey
        ? await answerElevenlabs(request, options.silent ?? false)
        : elevenlabsError({ status: 401, code: 'invalid_api_key', form: 'old', message: 'Invalid API key' });
    return chosen.does === 'work' ? deliver(response, delivery) : deliverFault(response, chosen, delivery);
  }

  const origin = await startOrigin((incoming, response) => {
    const abandoned = new Promise<void>((resolve) => {
      response.once('close', () => {
        if (!response.writableFinished) resolve();
      });
    });
    read(incoming)
      .then((content) => {
        const url = new URL(incoming.url ?? '/', 'http://vendor');
        const request = {
          path: url.pathname,
          outputFormat: url.searchParams.get('output_format'),
          headers: incoming.headers as ElevenlabsRequest['headers'],
          ...content,
          abandoned,
        };
        requests.push(request);
        return answer(request, response);
      })
      .catch((error: unknown) => {
        // A request that is no request of this format, or a client that left in the middle.
        if (response.destroyed || response.headersSent) return;
        void deliver(response, issueList([{ loc: ['body'], msg: String(error) }]));
      });
  });

  return {
    get port() {
      return origin.port;
    },
    get origin() {
      return origin.origin;
    },
    get connections() {
      return origin.connections;
    },
    idle: origin.idle,
    close: origin.close,
    baseUrl: `${origin.origin}/v1`,
    get requests() {
      return requests;
    },
    behave(next) {
      behaviour = next;
      used = 0;
    },
    reset() {
      requests = [];
      behaviour = [];
      used = 0;
    },
  };
}

async function read(request: IncomingMessage): Promise<Pick<ElevenlabsRequest, 'members' | 'files'>> {
  if ((request.headers['content-type'] ?? '').startsWith('multipart/form-data')) return readForm(request);
  return { members: JSON.parse((await buffer(request)).toString()), files: [] };
}
