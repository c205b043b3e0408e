/** An egress proxy that answers for origins. */

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TLSSocket } from 'node:tls';
import { createCertificateAuthority } from '../http/certificates.js';

/** A request as it arrived at the proxy, TLS taken off. */
export interface ProxyRequest {
  method: string;
  /** Absolute: scheme, host and port are those the client asked the proxy for. */
  url: URL;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface ProxyAnswer {
  /** Default 200. */
  status?: number;
  /** Several fields of one name (`set-cookie`) are joined with line feeds. */
  headers?: Readonly<Record<string, string>>;
  /** An iterable is sent chunk by chunk, as fast as it yields. Default: empty. */
  body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Milliseconds before the first byte. Default 0. */
  delayMs?: number;
  /**
   * `hang` never answers, `reset` cuts the connection instead of answering, `truncate` announces the whole body and cuts
   * the connection in the middle of it.
   */
  fault?: 'hang' | 'reset' | 'truncate';
}

export type AnswerRequest = (request: ProxyRequest) => ProxyAnswer | Promise<ProxyAnswer>;

export interface ReplayingProxy {
  readonly url: string;
  /** PEM file of the authority that signs for every host. */
  readonly caPath: string;
  /** Every request since the last {@link setAnswer}, in the order of arrival. */
  readonly requests: readonly ProxyRequest[];
  /** Answers with this from now on and forgets the requests so far. */
  setAnswer(answer: AnswerRequest): void;
  close(): Promise<void>;
}

/** Tunnels are decrypted with a certificate of this authority; where they were to lead is kept here. */
const origins = new WeakMap<Socket, string>();

/**
 * A forward proxy on 127.0.0.1 that answers everything itself: absolute-form http and, behind CONNECT, both plain http
 * and https with a certificate made for the host. It never opens a connection of its own.
 */
export async function startReplayingProxy({ answer }: { answer: AnswerRequest }): Promise<ReplayingProxy> {
  const authority = await createCertificateAuthority();
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-proxy-'));
  const caPath = path.join(folder, 'ca.pem');
  await writeFile(caPath, authority.pem);

  const sockets = new Set<Socket>();
  let requests: ProxyRequest[] = [];
  let currentAnswer = answer;

  const listener = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    // The client may hang up at any point; that is its right and not an error of the proxy.
    outgoing.on('error', () => {});
    const origin = origins.get(incoming.socket) ?? '';
    readRequest(incoming, origin)
      .then(async (request) => {
        requests.push(request);
        await send(await currentAnswer(request), outgoing, request.method);
      })
      .catch(() => outgoing.destroy());
  };

  const tunnelled = createServer(listener);
  const server = createServer(listener);
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('connect', (request, stream, head) => {
    const socket = stream as Socket;
    socket.on('error', () => {});
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length > 0) socket.unshift(head);
    openTunnel(socket, request.url ?? '').catch(() => socket.destroy());
  });

  async function openTunnel(socket: Socket, target: string): Promise<void> {
    const { hostname, port } = new URL(`http://${target}`);
    const first = await firstByte(socket);
    if (first !== TLS_HANDSHAKE) {
      origins.set(socket, `http://${target}`);
      tunnelled.emit('connection', socket);
      return;
    }
    const name = hostname.replace(/^\[|\]$/g, '');
    const secureContext = await authority.contextFor(name);
    const secure = new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] });
    secure.on('error', () => {});
    origins.set(secure, `https://${hostname}${port === '443' ? '' : `:${port || '80'}`}`);
    tunnelled.emit('connection', secure);
  }

  for (const one of [server, tunnelled]) one.on('clientError', (_error, socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caPath,
    get requests() {
      return requests;
    },
    setAnswer(next) {
      requests = [];
      currentAnswer = next;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const TLS_HANDSHAKE = 0x16;

async function firstByte(socket: Socket): Promise<number | undefined> {
  for (;;) {
    const chunk: Buffer | null = socket.read();
    if (chunk) {
      socket.unshift(chunk);
      return chunk[0];
    }
    if (socket.readableEnded || socket.destroyed) return undefined;
    await Promise.race([once(socket, 'readable'), once(socket, 'close')]);
  }
}

async function readRequest(incoming: IncomingMessage, origin: string): Promise<ProxyRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return {
    method: incoming.method ?? 'GET',
    url: new URL(incoming.url ?? '/', origin || undefined),
    headers: incoming.headers,
    body: Buffer.concat(chunks).toString('utf8'),
  };
}

async function send(answer: ProxyAnswer, outgoing: ServerResponse, method: string): Promise<void> {
  if (answer.delayMs) await new Promise((resolve) => setTimeout(resolve, answer.delayMs));
  if (answer.fault === 'hang') return;
  if (answer.fault === 'reset') {
    outgoing.destroy();
    return;
  }
  const { body = '' } = answer;
  const fields = Object.entries(answer.headers ?? {}).map(([name, value]) => [name, value.split('\n')]);
  const headers = Object.fromEntries(fields);
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const bytes = Buffer.from(body);
    outgoing.writeHead(answer.status ?? 200, { 'content-length': bytes.length, ...headers });
    if (answer.fault === 'truncate') {
      outgoing.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => outgoing.destroy());
    } else {
      outgoing.end(method === 'HEAD' ? undefined : bytes);
    }
    return;
  }
  outgoing.writeHead(answer.status ?? 200, headers);
  await pipeline(Readable.from(body), outgoing);
}
