/*
 * Records replies of the real network as fixtures of a sample, with the address guard and limits of the gateway's own
 * client. Only four response headers are recorded. Secrets of the definition, and query parameters and fields of
 * bodies that look like credentials or identify a visitor, are removed. If several requests have the same address, a
 * field that only one body has is recorded to tell them apart. Bodies become files beside `exchanges.json`.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { HttpClient, HttpRequest, HttpResponse } from '../contracts/index.js';
import type { ExtractorDefinition } from './extraction-run.js';
import { oneChunk } from './fakes.js';
import type { FixtureExchange } from './replay.js';

const TIMEOUT_MS = 25_000;

/** A recorder on the real network, with the guard and limits of the gateway's own client. */
export async function recordSample({ secrets }: ExtractorDefinition): Promise<Recording> {
  const [{ createHttpTransport }, { createAddressGuard }] = await Promise.all([
    import('../net/http-client.js'),
    import('../net/egress.js'),
  ]);
  const transport = createHttpTransport({
    guard: createAddressGuard({}),
    egressProxyUrl: process.env.EGRESS_PROXY_URL,
  });
  const client = transport.scoped({
    timeoutMs: TIMEOUT_MS,
    trustedOrigins: [],
    signal: new AbortController().signal,
  });
  return createRecording(client, secrets);
}

/** Response headers that are recorded; all others (cookies, keys, traces) are omitted. */
const RECORDED_HEADERS = new Set(['content-type', 'location', 'retry-after', 'content-language']);
/** Query parameters that contain a credential or identify a visitor, on any platform. */
const SECRET_PARAMETER = /key|token|secret|password|signature|session|visitor|^(?:sig|auth|code|pot)$/i;
/** Fields of bodies that do; the value is redacted. */
const SECRET_FIELD =
  /("(?:[a-z0-9_]*(?:token|visitor_?data|secret|password|session_?id|api_?key)|cookie|authorization|remotehost)"\s*:\s*)"(?:[^"\\]|\\.)*"/gi;
const EXTENSIONS: readonly [type: RegExp, extension: string][] = [
  [/json/, 'json'],
  [/html/, 'html'],
  [/xml/, 'xml'],
  [/text|javascript/, 'txt'],
];

export interface Recording extends HttpClient {
  /** Writes `exchanges.json` and the bodies beside it. */
  save(folder: string): void;
}

interface Recorded {
  request: HttpRequest;
  response: HttpResponse;
}

/** Passes requests on to a client and records the answers, without credentials. */
export function createRecording(client: HttpClient, secrets: readonly string[] = []): Recording {
  const recorded: Recorded[] = [];

  async function request(wanted: HttpRequest): Promise<HttpResponse> {
    const response = await client.request(wanted);
    recorded.push({ request: wanted, response });
    return response;
  }

  const scrub = (text: string) =>
    secrets.reduce((clean, secret) => clean.replaceAll(secret, 'removed'), text.replace(SECRET_FIELD, '$1"removed"'));

  return {
    request,
    async stream(wanted) {
      const { status, headers, url, body } = await request(wanted);
      return { status, headers, url, body: oneChunk(body) };
    },
    save(folder) {
      mkdirSync(folder, { recursive: true });
      const exchanges = recorded.map(({ request: asked, response }, index): FixtureExchange => {
        const type = response.headers['content-type'] ?? '';
        const extension = EXTENSIONS.find(([pattern]) => pattern.test(type))?.[1];
        const file = `${index + 1}.${extension ?? 'bin'}`;
        if (response.body.length > 0) {
          writeFileSync(path.join(folder, file), extension ? scrub(response.text()) : response.body);
        }
        const others = recorded.filter((other) => other.request !== asked && sameAddress(other.request, asked));
        const distinct = distinctText(
          asked,
          others.map((other) => other.request),
        );
        return {
          request: {
            method: asked.method ?? 'GET',
            url: scrub(withoutSecrets(asked.url)),
            ...(distinct && { bodyIncludes: [scrub(distinct)] }),
          },
          response: {
            status: response.status,
            headers: Object.fromEntries(
              Object.entries(response.headers)
                .filter(([name]) => RECORDED_HEADERS.has(name))
                .map(([name, value]) => [name, scrub(value)]),
            ),
            ...(response.body.length > 0 && { file }),
          },
        };
      });
      writeFileSync(path.join(folder, 'exchanges.json'), `${JSON.stringify({ exchanges }, null, 2)}\n`);
    },
  };
}

/** A parameter that the fixture does not list may have any value at replay. */
function withoutSecrets(address: string | URL): string {
  const url = new URL(address);
  for (const name of [...url.searchParams.keys()]) if (SECRET_PARAMETER.test(name)) url.searchParams.delete(name);
  return url.href;
}

function sameAddress(one: HttpRequest, other: HttpRequest): boolean {
  return (one.method ?? 'GET') === (other.method ?? 'GET') && withoutSecrets(one.url) === withoutSecrets(other.url);
}

/**
 * A field that only this request's JSON body has, e.g. `"clientName":"WEB"`, so that replay can distinguish requests.
 */
function distinctText(asked: HttpRequest, others: readonly HttpRequest[]): string | undefined {
  if (others.length === 0 || typeof asked.body !== 'string') return undefined;
  const fields = asked.body.match(/"\w+":"[^"\\]{1,80}"/g) ?? [];
  return fields.find((field) => others.every(({ body }) => !String(body ?? '').includes(field)));
}
