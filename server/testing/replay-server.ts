/*
 * Serves the gateway's real routes to tests of plugins: the requests of the plugins get recorded replies in place of a
 * network. The server listens on a free port of 127.0.0.1; its state is in a temporary folder that closing deletes, and
 * no setting of the environment applies. A sign-in with the development identity provider works. Replies are used in order, the last one repeatedly; a request that no reply
 * fits fails like a broken connection and is listed. Errors in fixtures are thrown at the opening and say which file is
 * wrong. A plugin that ignores its signal cannot keep the test runner open.
 */

import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HttpRequest, Plugin, PluginEntry } from '../../core/contracts/index.js';
import { systemClock } from '../../core/runtime/index.js';
import {
  beginWork,
  createRecordingLogger,
  createReplay,
  type Exchange,
  type FakeReply,
  type FixtureExchange,
  type LogLine,
  readFixture,
  type SentRequest,
} from '../../core/testing/index.js';
import { type CloseList, openOrClose } from '../close-list.js';
import { createHttpServer } from '../http/index.js';
import { createKeyRecord, GRANTS } from '../keys/index.js';
import { openServer } from '../open-server.js';
import { loadPeppers, readSettings } from '../settings/index.js';

export interface ReplayServerOptions {
  /** Default: none but `plugins`. */
  plugin?: Plugin;
  /**
   * Recorded replies, in one of these forms:
   * - a folder with an `exchanges.json` (one sample), as a path or a `file:` URL;
   * - a folder of such folders: every sample in it, in alphabetical order;
   * - a list of such folders, each of them as a path, a URL, or a {@link ReplayFolder};
   * - a list of exchanges in the form of `exchanges.json`, with the body as `text`.
   *
   * `[]` is for a plugin that sends no requests. Exchanges that match the same request are used in order, the last one
   * repeatedly.
   */
  fixtures: string | URL | readonly (string | URL | ReplayFolder | FixtureExchange)[];
  /** Of `plugin`, as in plugins.config.json; its schema fills in defaults. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Further plugins, as in plugins.config.json. Default: none. */
  plugins?: readonly PluginEntry[];
  /** Files of media hosts, sent whole or in ranges. The first that fits a request answers it. Default: none. */
  media?: readonly ReplayMedia[];
  /** Links that the playground offers as recorded samples, one of each platform. Default: none. */
  examples?: readonly string[];
  /** Settings by their names, such as `MEDIA_PROXY`. Those of the listener and of the data have no effect. Default: none. */
  settings?: Readonly<Record<string, string>>;
  /** Where the server listens on 127.0.0.1. Default: a free port. */
  port?: number | undefined;
  /** Origins, such as that of a connected model, which requests reach as they are. Default: none. */
  reachable?: readonly string[];
}

export interface ReplayMedia {
  /** The host's name, or its end if it begins with a point: `.cdn.example`. */
  host: string;
  /** A text that the address has. Default: none. */
  includes?: string;
  file: string | URL;
}

export interface ReplayFolder {
  folder: string | URL;
  /**
   * A text that requests for these replies have in their address or body, such as the id of an item: for platforms with
   * one address for all items. Default: none.
   */
  includes?: string;
  /** Milliseconds before each answer. Default 0. */
  delayMs?: number;
}

/** A gateway that listens on 127.0.0.1. */
export interface ReplayServer extends AsyncDisposable {
  /** E.g. `http://127.0.0.1:40123`, without a trailing slash. */
  readonly url: string;
  /** Opens every route of models and links; for `Authorization: Bearer …`. */
  readonly apiKey: string;
  /** Requests of the plugins, in the order they were sent. */
  readonly requests: readonly HttpRequest[];
  /** Requests that no exchange answers, e.g. `GET https://host.example/a`: the plugin got a connection error. */
  readonly unmatched: readonly string[];
  /** Log lines of the server, among them the errors that clients are not shown. */
  readonly logs: readonly LogLine[];
  /** Ends the server and deletes its data. Idempotent. */
  close(): Promise<void>;
}

/** Requests per minute of the key: more than a test sends. */
const KEY_RPM = 100_000;

/**
 * Serves the gateway's real routes with plugins whose requests get recorded replies instead of a network. The
 * state is in a temporary folder; no setting of the environment applies.
 * @throws Error if a fixture is missing or wrong, PluginConfigError if the plugin does not load. Both say why.
 */
export function openReplayServer(options: ReplayServerOptions): Promise<ReplayServer> {
  const work = beginWork();
  return work.run(() =>
    openOrClose((opened) => {
      // The last to close. A plugin that ignores its signal goes on, and must not keep the test runner open.
      opened.add(async () => work.end());
      return open(options, opened);
    }),
  );
}

async function open(
  {
    plugin,
    fixtures,
    options = {},
    plugins = [],
    media = [],
    examples,
    settings: wanted = {},
    port = 0,
    reachable = [],
  }: ReplayServerOptions,
  opened: CloseList,
): Promise<ReplayServer> {
  const answerMedia = mediaHost(media);
  const answerReally = realAnswers(reachable);
  const replay = createReplay(readExchanges(fixtures), (request) => answerMedia(request) ?? answerReally(request));
  const logger = createRecordingLogger();
  const dataDir = await mkdtemp(path.join(tmpdir(), 'mediagate-replay-'));
  opened.add(() => rm(dataDir, { recursive: true, force: true }));
  const settings = readSettings({
    ...wanted,
    DATA_DIR: dataDir,
    HOST: '127.0.0.1',
    PORT: String(port),
    BROWSER: 'off',
  });

  let url = '';
  const server = await openServer({
    settings,
    environment: { PATH: process.env.PATH },
    address: () => url,
    plugins: [...(plugin ? [{ use: plugin, options, required: true }] : []), ...plugins],
    recordedLinks: examples ?? [],
    services: { http: replay, logger },
  });
  opened.add(() => server.close());
  const listening = createHttpServer({ handler: server.handler });
  opened.add(async () => {
    server.health.startDraining();
    listening.close();
    listening.closeAllConnections();
  });
  listening.listen(settings.port, settings.host);
  await once(listening, 'listening');
  url = `http://${settings.host}:${(listening.address() as AddressInfo).port}`;

  const [pepper] = await loadPeppers(settings);
  const terms = { name: 'replay', grants: GRANTS, rpm: KEY_RPM, expiresAt: null };
  const { key: apiKey, record } = createKeyRecord(terms, pepper, systemClock.now());
  await server.state.keys.insert(record);

  const close = () => opened.close();
  return {
    url,
    apiKey,
    requests: replay.requests,
    unmatched: replay.unmatched,
    logs: logger.lines,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function readExchanges(fixtures: ReplayServerOptions['fixtures']): Exchange[] {
  if (typeof fixtures === 'string' || fixtures instanceof URL) return readFolder(fixtures);
  if (!Array.isArray(fixtures)) {
    throw new TypeError('openReplayServer takes "fixtures": a folder, a list of folders, or a list of exchanges.');
  }
  return fixtures.flatMap((one: string | URL | ReplayFolder | FixtureExchange) => {
    if (typeof one === 'string' || one instanceof URL) return readFolder(one);
    if (!('folder' in one)) return readInline(one);
    const { folder, ...more } = one;
    return readFolder(folder).map((exchange) => ({ ...exchange, ...more }));
  });
}

/** Bytes per chunk of a media file. */
const MEDIA_CHUNK = 64 * 1024;

function mediaHost(media: readonly ReplayMedia[]): (request: HttpRequest) => FakeReply | undefined {
  const files = media.map(({ file, ...where }) => ({ ...where, content: readFileSync(pathOf(file)) }));
  return ({ url, headers = {} }) => {
    const { hostname, href } = new URL(url);
    const content = files.find(
      ({ host, includes = '' }) =>
        (host.startsWith('.') ? hostname.endsWith(host) : hostname === host) && href.includes(includes),
    )?.content;
    return content && mediaReply(content, headers.range);
  };
}

function mediaReply(content: Buffer, range = ''): FakeReply {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(range) ?? [];
  if (from === undefined) {
    return { headers: { 'content-length': String(content.length) }, body: content, pieceLength: MEDIA_CHUNK };
  }
  const start = Number(from);
  const end = Math.min(content.length, to ? Number(to) + 1 : content.length);
  if (start >= end) return { status: 416, headers: { 'content-range': `bytes */${content.length}` } };
  const headers = {
    'content-length': String(end - start),
    'content-range': `bytes ${start}-${end - 1}/${content.length}`,
  };
  return { status: 206, headers, body: content.subarray(start, end), pieceLength: MEDIA_CHUNK };
}

const DISCOVERY = '/.well-known/openid-configuration';

/**
 * A sign-in is real: the development identity provider of this process is asked on loopback. Its origin is the one whose
 * discovery is asked for. So are the answers of the origins that are named.
 */
function realAnswers(reachable: readonly string[]): (request: SentRequest) => Promise<FakeReply | undefined> {
  const origins = new Set(reachable);
  return async ({ url, method = 'GET', headers = {}, body, signal }) => {
    const { hostname, origin, pathname } = new URL(url);
    if (hostname === '127.0.0.1' && pathname === DISCOVERY) origins.add(origin);
    if (!origins.has(origin)) return undefined;
    const asked = fetch(url, { method, headers, body: body as BodyInit, signal, redirect: 'manual' });
    // Without the reason: a plugin sees the same as of a platform that does not answer.
    const answer = await asked.catch((error) => {
      if (signal?.aborted) throw error;
    });
    if (!answer) return { fail: 'connection' };
    return {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      body: Buffer.from(await answer.arrayBuffer()),
    };
  };
}

function pathOf(place: string | URL): string {
  const isUrl = place instanceof URL || place.startsWith('file:');
  return path.resolve(isUrl ? fileURLToPath(place) : place);
}

function readFolder(place: string | URL): Exchange[] {
  const folder = pathOf(place);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Error(`The folder of fixtures ${folder} does not exist.`);
  }
  if (hasExchanges(folder)) return readSample(folder);
  const samples = readdirSync(folder)
    .sort()
    .map((name) => path.join(folder, name))
    .filter(hasExchanges);
  if (samples.length === 0) {
    throw new Error(`Neither ${folder} nor a folder in it has an exchanges.json with recorded replies.`);
  }
  return samples.flatMap(readSample);
}

function hasExchanges(folder: string): boolean {
  return existsSync(path.join(folder, 'exchanges.json'));
}

function readSample(folder: string): Exchange[] {
  try {
    return readFixture(folder);
  } catch (error) {
    throw new Error(`${path.join(folder, 'exchanges.json')} cannot be replayed: ${messageOf(error)}`, { cause: error });
  }
}

function readInline(exchange: FixtureExchange): Exchange {
  const { request, response } = exchange;
  const url = URL.parse(request?.url);
  if (!url || !Number.isInteger(response?.status)) {
    throw new TypeError('An exchange of openReplayServer needs "request.url", an absolute URL, and "response.status".');
  }
  if (response.file !== undefined) {
    throw new TypeError(
      'An exchange in a list has its body as "text". One with a "file" belongs in an exchanges.json.',
    );
  }
  const { method = 'GET', bodyIncludes = [] } = request;
  const { status, headers = {}, text = '' } = response;
  return { name: `${method} ${url}`, method, url, bodyIncludes, status, headers, body: Buffer.from(text) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
