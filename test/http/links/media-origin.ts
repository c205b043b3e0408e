/** A platform whose media hosts behave as the real ones do: bound to headers, refusing, throttling, breaking off. */

import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type Common,
  type Extraction,
  type Extractor,
  type HttpClient,
  type MediaEntry,
  openHttpClient,
} from 'mediagate';
import { inventedExtraction } from '../../support/links/invented-plugin.js';
import { startOrigin } from '../../support/links/origin-server.js';
import { sendRange } from './audio-origin.js';

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

/** One item of the platform. */
export interface MediaItem {
  entries: readonly Omit<MediaEntry, 'url'>[];
  /** What the media host answers for each entry; bytes are served with ranges. */
  content: readonly (Uint8Array | Respond)[];
  extraction?: Partial<Extraction>;
  title?: string;
  common?: Partial<Common>;
  /** Further files of the media host, by name, such as the parts that a manifest lists. Default: none. */
  files?: Readonly<Record<string, Uint8Array | Respond>>;
}

const HOST = 'media.invented.example';

/** The platform, its media hosts and the client that reaches them. */
export async function startMediaOrigin() {
  const items = new Map<string, MediaItem>();
  const requests: { path: string; range: string | undefined; headers: IncomingMessage['headers'] }[] = [];
  const hosts: string[] = [];
  const generations = new Map<string, number>();
  const server = await startOrigin((request, response) => {
    const { url = '', headers } = request;
    requests.push({ path: url, range: headers.range, headers });
    const [, id = '', name = '', generation] = /^\/(\d+)\/([\w.-]+)(?:\?g=(\d+))?$/.exec(url) ?? [];
    const { content: entries, files = {} } = items.get(id) ?? {};
    const content = files[name] ?? (Number(generation) === generations.get(id) ? entries?.[Number(name)] : undefined);
    if (!content) response.writeHead(403).end();
    else if (typeof content === 'function') content(request, response);
    else sendRange(content, request, response);
  });
  const { client, close } = await openHttpClient({ timeoutMs: 30_000, trustedOrigins: [server.origin] });
  // Names of hosts without a resolver: those of the platform are on loopback.
  const http: HttpClient = {
    // An identity provider beside the app has an address that is not known yet.
    async request({ url, method = 'GET', headers, body, signal }) {
      const sent = typeof body === 'string' || body instanceof Uint8Array ? { body: body as BodyInit } : {};
      const answer = await fetch(url, {
        method,
        redirect: 'manual',
        ...sent,
        ...(headers && { headers }),
        ...(signal && { signal }),
      });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const text = () => bytes.toString();
      const fields = Object.fromEntries(answer.headers);
      return {
        status: answer.status,
        headers: fields,
        url: answer.url,
        body: bytes,
        text,
        json: () => JSON.parse(text()),
      };
    },
    stream(request) {
      const { hostname, pathname, search } = new URL(request.url);
      hosts.push(hostname);
      return client.stream({ ...request, url: `${server.origin}${pathname}${search}` });
    },
  };

  const extractor: Partial<Extractor> = {
    mediaHosts: [HOST, '.cdn.invented.example'],
    mediaHeaders: { referer: 'https://invented.example/' },
    audio: true,
    async resolveAudio({ link: { id } }) {
      const index = items.get(id)?.entries.findIndex(({ kind }) => kind === 'audio');
      return { url: `https://${HOST}/${id}/${index}?g=${generations.get(id)}` };
    },
    async extract({ link: { id } }) {
      const { entries = [], extraction, title, common: more } = items.get(id) ?? {};
      const generation = (generations.get(id) ?? 0) + 1;
      generations.set(id, generation);
      const plain = inventedExtraction(id, extraction);
      if ('product' in plain.data) throw new Error('the invented platform has no products');
      const { media, common } = plain.data;
      const listed = entries.map((entry, index) => ({
        ...entry,
        url: `https://${HOST}/${id}/${index}?g=${generation}`,
      }));
      const urlsOf = (kind: string) => listed.filter((entry) => entry.kind === kind).map(({ url }) => url);
      const urls = { video_urls: urlsOf('video'), image_urls: urlsOf('image') };
      return {
        ...plain,
        data: {
          ...plain.data,
          common: { ...common, ...(title && { title }), ...more },
          media: { ...media, ...urls, entries: listed },
        },
      };
    },
  };

  let count = 0;
  return {
    http,
    extractor,
    requests,
    /** Hosts that were asked. */
    hosts,
    /** Times that the item was resolved. */
    resolved: (id: string) => generations.get(id) ?? 0,
    /** Makes all addresses of the item expire: only those of the next resolution work. */
    expire: (id: string) => void generations.set(id, (generations.get(id) ?? 0) + 1),
    put(item: MediaItem): string {
      count += 1;
      const id = String(1_000 + count);
      items.set(id, item);
      return id;
    },
    async close() {
      await close();
      await server.close();
    },
  };
}

/** An MP4 by its first bytes; the rest is noise. */
export function videoOf(length: number): Buffer {
  const bytes = randomBytes(length);
  bytes.writeUInt32BE(24, 0);
  bytes.write('ftypisom', 4, 'latin1');
  return bytes;
}

export const JPEG = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), randomBytes(5_000)]);
