/** A server of audio files with ranges, slowness and faults. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AudioSource, Extractor } from 'mediagate';
import { inventedExtraction } from '../../support/links/invented-plugin.js';
import { type OriginServer, startOrigin } from '../../support/links/origin-server.js';

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

/** Where the invented platform keeps its media, and the platform that knows it. */
export interface AudioOrigin {
  readonly server: OriginServer;
  /** Requests so far: path and range. */
  readonly requests: readonly string[];
  /** Times that the platform was asked where the sound is. */
  readonly asked: number;
  /** Serves these bytes under the item's id, ranges and all; a function answers by itself. */
  put(id: string, content: Uint8Array | Respond, source?: Partial<AudioSource>): void;
  readonly extractor: Partial<Extractor>;
}

export async function startAudioOrigin(): Promise<AudioOrigin> {
  const items = new Map<string, { content: Uint8Array | Respond; source: Partial<AudioSource> }>();
  const requests: string[] = [];
  let asked = 0;
  const server = await startOrigin((request, response) => {
    requests.push(`${request.url} ${request.headers.range ?? ''}`.trim());
    const content = items.get(request.url?.slice(1) ?? '')?.content;
    if (typeof content === 'function') content(request, response);
    else if (content) sendRange(content, request, response);
    else response.writeHead(404).end();
  });

  return {
    server,
    requests,
    get asked() {
      return asked;
    },
    put: (id, content, source = {}) => void items.set(id, { content, source }),
    extractor: {
      audio: true,
      mediaHosts: ['127.0.0.1'],
      extract: async ({ link }) => inventedExtraction(link.id, { audio: true }),
      resolveAudio: async ({ link }) => {
        asked += 1;
        return { url: `${server.origin}/${link.id}`, ...items.get(link.id)?.source };
      },
    },
  };
}

/** As a media host answers: one range, or all of it. */
export function sendRange(content: Uint8Array, request: IncomingMessage, response: ServerResponse): void {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  if (content.length === 0) {
    response.writeHead(416, { 'content-range': 'bytes */0' }).end();
    return;
  }
  if (first === undefined) {
    response.writeHead(200, { 'content-length': content.length }).end(content);
    return;
  }
  const start = Number(first);
  const end = Math.min(Number(last), content.length - 1);
  response.writeHead(206, {
    'content-range': `bytes ${start}-${end}/${content.length}`,
    'content-length': end + 1 - start,
  });
  response.end(content.subarray(start, end + 1));
}
