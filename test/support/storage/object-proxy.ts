/** A proxy before the object server that fails as told. */

import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { BUCKET, KEY, type ObjectServer } from './object-server.js';

/** How a store fails. */
export type ObjectFault =
  /** Answers with this status, and an error in XML. */
  | number
  /** Answers with this; the last of it never comes where `endless`. */
  | { status: number; headers?: Readonly<Record<string, string>>; body: string; endless?: boolean }
  /** Says nothing, until another fault, or none, is set. */
  | 'hang'
  /** Closes the connection at once. */
  | 'reset'
  /** Passes half of the request on and then closes both connections. */
  | 'cut'
  /** One byte of the request is another one when it arrives. */
  | 'damage'
  /** Says that it has stored what it has not. */
  | 'forget'
  /** Stores half of it and says that it has stored it all. */
  | 'halve'
  /** Loses what is to be kept with the object. */
  | 'strip'
  /** The store's clock goes an hour ahead. */
  | 'skew'
  /** Sends the client to another address. */
  | 'redirect'
  /** Closes the connection in the middle of the answer. */
  | 'truncate'
  /** Takes its time, then does what it should. */
  | 'slow';

export interface ObjectRequest {
  method: string;
  /** Of the object, without the bucket. */
  key: string;
  query: string;
  bytes: number;
}

export interface ObjectProxy {
  /** Setting of a storage behind this proxy. Everything is kept under the prefix. */
  filesUrl(prefix: string): string;
  readonly secret: string;
  /** Every request since the last {@link setFault}. */
  readonly requests: readonly ObjectRequest[];
  /** From now on; connections that hang are closed. */
  setFault(fault?: (request: ObjectRequest) => ObjectFault | undefined): void;
  /** Connections that are open. */
  readonly open: number;
  /** Requests that were sent where `redirect` points. */
  readonly redirected: number;
  close(): Promise<void>;
}

const SECRET = 'abc/DEF+ghi=jkl';
const SLOW_MS = 100;

/**
 * Stands before an S3-compatible server and fails as it is told. It does as well what real stores do and the server behind it
 * does not: it checks signatures and the digests of what arrives.
 */
export async function startObjectProxy(store: ObjectServer): Promise<ObjectProxy> {
  const sockets = new Set<Socket>();
  const hanging = new Set<Socket>();
  let requests: ObjectRequest[] = [];
  let faultOf: (request: ObjectRequest) => ObjectFault | undefined = () => undefined;
  let redirected = 0;

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    const url = new URL(incoming.url ?? '', store.url);
    if (url.pathname.startsWith('/elsewhere/')) redirected += 1;
    const key = url.pathname.slice(BUCKET.length + 2);
    const seen = { method: incoming.method ?? '', key, query: url.search, bytes: body.length };
    requests.push(seen);
    const fault = faultOf(seen);
    if (typeof fault === 'number') return refuse(outgoing, fault, 'Injected');
    if (typeof fault === 'object') {
      outgoing.writeHead(fault.status, fault.headers).write(fault.body);
      return void (fault.endless ? hanging.add(incoming.socket) : outgoing.end());
    }
    if (fault === 'hang') return void hanging.add(incoming.socket);
    if (fault === 'reset') return void incoming.socket.destroy();
    if (fault === 'forget') return void outgoing.writeHead(200, { etag: '"0"' }).end();
    if (fault === 'redirect') return void outgoing.writeHead(307, { location: `/elsewhere/${key}` }).end();
    if (fault === 'slow') await sleep(SLOW_MS);
    if (!isSigned(incoming, SECRET)) return refuse(outgoing, 403, 'SignatureDoesNotMatch');
    if (fault === 'damage' && body.length > 0) body[0] = (body[0] ?? 0) ^ 1;
    const digest = incoming.headers['content-md5'];
    if (digest !== undefined && digest !== createHash('md5').update(body).digest('base64')) {
      return refuse(outgoing, 400, 'BadDigest');
    }
    await forward(incoming, outgoing, body, fault);
  }

  async function forward(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    body: Buffer,
    fault: ObjectFault | undefined,
  ): Promise<void> {
    const headers = { ...incoming.headers };
    const half = body.subarray(0, body.length / 2);
    if (fault === 'halve' && headers['content-length']) headers['content-length'] = String(half.length);
    if (fault === 'skew') {
      const hourAgo = new Date(Date.now() - 3_600_000);
      headers['x-amz-date'] = hourAgo.toISOString().replace(/[-:]|\.\d+/g, '');
    }
    if (fault === 'strip') {
      for (const name of Object.keys(headers)) if (name.startsWith('x-amz-meta-')) delete headers[name];
    }
    const passed = openRequest(`${store.url}${incoming.url}`, { method: incoming.method, headers });
    if (fault === 'cut') {
      passed.on('error', () => {});
      passed.write(half, () => {
        passed.destroy();
        incoming.socket.destroy();
      });
      return;
    }
    passed.end(fault === 'halve' ? half : body);
    const [answer] = (await once(passed, 'response')) as [IncomingMessage];
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    const content = await buffer(answer);
    if (fault === 'truncate') outgoing.write(content.subarray(0, content.length / 2), () => incoming.socket.destroy());
    else outgoing.end(content);
  }

  const server = createServer((incoming, outgoing) => {
    outgoing.on('error', () => {});
    handle(incoming, outgoing).catch(() => incoming.socket.destroy());
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    filesUrl: (prefix) =>
      `s3://${KEY}:${encodeURIComponent(SECRET)}@127.0.0.1:${port}/${BUCKET}/${prefix}?region=eu-test-1&tls=off`,
    secret: SECRET,
    get requests() {
      return requests;
    },
    get open() {
      return sockets.size;
    },
    get redirected() {
      return redirected;
    },
    setFault(fault = () => undefined) {
      requests = [];
      faultOf = fault;
      for (const socket of hanging) socket.destroy();
      hanging.clear();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function refuse(outgoing: ServerResponse, status: number, code: string): void {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>Secret words</Message></Error>`;
  outgoing.writeHead(status, { 'content-type': 'application/xml' }).end(body);
}

/** Whether a request bears the AWS signature (version 4, of headers alone) that this secret gives it. */
function isSigned({ method, url = '', headers }: IncomingMessage, secret: string): boolean {
  const { pathname, searchParams } = new URL(url, 'http://store');
  const found = /^AWS4-HMAC-SHA256 Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
    headers.authorization ?? '',
  );
  const [, scope = '', names = '', signature] = found ?? [];
  // Every such header has to be signed: else whoever stands between could change it.
  if (Object.keys(headers).some((name) => name.startsWith('x-amz-') && !names.split(';').includes(name))) return false;
  const query = [...searchParams].map((pair) => pair.map(encodeURIComponent).join('=')).sort();
  const lines = names.split(';').map((name) => `${name}:${headers[name]}`);
  const request = [method, pathname, query.join('&'), ...lines, '', names, 'UNSIGNED-PAYLOAD'].join('\n');
  const digest = createHash('sha256').update(request).digest('hex');
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, digest].join('\n');
  const sign = (key: string | Buffer, part: string) => createHmac('sha256', key).update(part).digest();
  const key = scope.split('/').reduce<string | Buffer>(sign, `AWS4${secret}`);
  return sign(key, text).toString('hex') === signature;
}
