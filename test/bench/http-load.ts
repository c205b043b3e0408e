/** Sends prepared HTTP requests over many connections and measures rate and delay. */

import { Agent, request } from 'node:http';

export interface LoadedRequest {
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** What the answer must be. */
  status: number;
}

export interface HttpLoad {
  /** Origin of the server. */
  url: string;
  connections: number;
  count: number;
  /** Request number `index`; another key for each is why no client that repeats one request will do. */
  next(index: number): LoadedRequest;
  /** Keeps its connections for later loads. Default: one that ends with the load. */
  agent?: Agent;
}

export interface HttpLoadResult {
  seconds: number;
  /** Milliseconds of each request. */
  times: number[];
  /** What the answers said, where `count` is small enough to keep them. */
  texts: string[];
}

/**
 * Sends so many requests over so many connections, each of which waits for its answer before the next.
 * @throws Error where an answer has another status than it must have.
 */
export async function loadHttp({ url, connections, count, next, ...options }: HttpLoad): Promise<HttpLoadResult> {
  const agent = options.agent ?? new Agent({ keepAlive: true, maxSockets: connections });
  const times: number[] = [];
  const texts: string[] = [];
  let index = 0;
  const began = performance.now();
  const client = async () => {
    while (index < count) {
      const wanted = next(index);
      index += 1;
      const sentAt = performance.now();
      texts.push(await send(url, agent, wanted));
      times.push(performance.now() - sentAt);
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, client));
  } finally {
    if (!options.agent) agent.destroy();
  }
  return { seconds: (performance.now() - began) / 1000, times, texts };
}

/** Text of a JSON answer; of a file, an empty one. */
function send(origin: string, agent: Agent, { method, path, headers, body, status }: LoadedRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const sent = request(origin + path, { agent, method, headers: { ...headers, ...length } }, (response) => {
      const isText = response.headers['content-type']?.includes('json');
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => isText && chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode === status) resolve(text);
        else reject(new Error(`${method} ${path} was answered with ${response.statusCode}: ${text}`));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
