/** A local server of an audio vendor, without a format of its own. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { extendOrigin, type OriginServer, startOrigin } from '../links/origin-server.js';
import { type Delivery, deliver } from '../models/vendor-delivery.js';
import { readForm, type SentFile } from './sent-form.js';

/** One request as a vendor of audio models saw it. */
export interface AudioVendorRequest {
  /** As it was sent. */
  path: string;
  headers: Readonly<Record<string, string | undefined>>;
  /** JSON members, or text fields of the form. */
  members: Readonly<Record<string, unknown>>;
  files: readonly SentFile[];
  /** Resolves when its connection is closed before the answer is complete. */
  abandoned: Promise<void>;
}

/** A server on loopback that does with each request what a test wants of it. */
export interface AudioVendor<Request, Answer> extends OriginServer {
  /** To be given as `url` of an upstream. */
  readonly baseUrl: string;
  /** All that were understood, in the order they came. */
  readonly requests: readonly Request[];
  /** From the next request on; a list is used up one by one, and then all goes well again. */
  behave(answers: readonly Answer[] | ((request: Request) => Answer)): void;
  /** Forgets requests and behaviour. */
  reset(): void;
}

export interface AudioVendorOptions<Request, Answer> {
  requestOf(sent: AudioVendorRequest): Request;
  /** @param chosen undefined where nothing was wanted: all goes well. */
  answer(request: Request, response: ServerResponse, chosen: Answer | undefined): Promise<void>;
  /** The answer to what is no request of the format. */
  refusal(message: string): Delivery;
}

export async function startAudioVendor<Request, Answer>(
  options: AudioVendorOptions<Request, Answer>,
): Promise<AudioVendor<Request, Answer>> {
  const { requestOf, answer, refusal } = options;
  let requests: Request[] = [];
  let choose: (request: Request) => Answer | undefined = () => undefined;

  const origin = await startOrigin((incoming, response) => {
    const abandoned = new Promise<void>((resolve) => {
      response.once('close', () => {
        if (!response.writableFinished) resolve();
      });
    });
    read(incoming)
      .then((content) => {
        const { url: path = '/', headers } = incoming;
        const sent = { path, headers: headers as AudioVendorRequest['headers'], ...content, abandoned };
        const request = requestOf(sent);
        requests.push(request);
        return answer(request, response, choose(request));
      })
      .catch((error: unknown) => {
        // A request that is no request of this format, or a client that left in the middle.
        if (!response.destroyed && !response.headersSent) void deliver(response, refusal(String(error)));
      });
  });

  return extendOrigin<AudioVendor<Request, Answer>>(origin, {
    baseUrl: `${origin.origin}/v1`,
    get requests() {
      return requests;
    },
    behave(answers) {
      if (typeof answers === 'function') {
        choose = answers;
        return;
      }
      const left = [...answers];
      choose = () => left.shift();
    },
    reset() {
      requests = [];
      choose = () => undefined;
    },
  });
}

async function read(request: IncomingMessage): Promise<Pick<AudioVendorRequest, 'members' | 'files'>> {
  if ((request.headers['content-type'] ?? '').startsWith('multipart/form-data')) return readForm(request);
  return { members: JSON.parse((await buffer(request)).toString()), files: [] };
}
