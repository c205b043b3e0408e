/** A plugin that ignores its signal, found by the kit. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { packageRoot } from '../../support/package-root.js';
import { namedVariants } from '../../support/runner/variants.js';

/**
 * A plugin that ignores its signal goes on after its checks, with timers, requests to a server of its own, a thread and
 * a process. Mocha, which is not told to exit, must end by itself, and say which check the plugin failed.
 */

const entry = (file: string) => JSON.stringify(pathToFileURL(path.join(packageRoot, 'dist', file)).href);

/** What a plugin does that never ends. The program writes the id of its process to "child". */
const GOES_ON = `
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import * as kit from ${entry('core/testing/index.js')};
import { openReplayServer } from ${entry('server/testing/index.js')};

// It has the output of mocha, which is at its end once this process has ended as well.
const startChild = () =>
  spawn(process.execPath, ['-e', 'setInterval(() => {}, 100)'], { stdio: ['ignore', 'inherit', 'ignore'] });

async function goOn(context) {
  setInterval(() => {}, 100);
  new Worker('setInterval(() => {}, 100)', { eval: true });
  writeFileSync('child', String(startChild().pid));
  const server = createServer((request, response) => request.url === '/' && response.end('more'));
  server.listen(0, '127.0.0.1');
  while (!server.listening) await setImmediate();
  const url = 'http://127.0.0.1:' + server.address().port;
  void fetch(url + '/never').catch(() => {});
  for (;;) {
    await (await fetch(url)).text();
    await context.clock.sleep(20);
    await setTimeout(20);
  }
}
const plugin = (kind, contributions) => ({
  name: 'restless', apiVersion: 1, summary: 'It never ends.', provides: [kind], setup: contributions,
});
`;

const LINK = 'https://restless.example/1';
const IMAGE_UPSTREAM = `{ image: (_, bytes) => ({ body: bytes }), moderation: { status: 400 } }`;

interface Restless {
  test: string;
  says: RegExp;
  /** Whether the test passes. Default false. */
  passes?: boolean;
}

const RESTLESS: Readonly<Record<string, Restless>> = {
  'an extractor': {
    test: `kit.describeExtractor({
      folder: import.meta.url,
      links: { '${LINK}': '1' }, foreign: ['https://other.example/1'],
      samples: [{ name: 'one', url: '${LINK}', id: '1', expect: {} }],
      plugin: plugin('extractor', (context) => ({ extractors: [{
        platform: 'restless', displayName: 'Restless', linkForms: ['restless.example/ID'],
        match: ({ href }) => href === '${LINK}' ? { kind: 'item', id: '1', url: href } : undefined,
        extract: () => goOn(context),
      }] })),
    });`,
    says: /plugin "restless", check "one: replays as expected": extract\(\) did not end within 12 s/,
  },
  'an image provider': {
    test: `kit.describeImageProvider({
      upstream: ${IMAGE_UPSTREAM}, takesReferences: false,
      plugin: plugin('image', (context) => ({ imageProviders: [{
        models: [{ id: 'restless-1', maxReferences: 0, formats: ['png'] }], generate: () => goOn(context),
      }] })),
    });`,
    says: /plugin "restless", check "makes an image of words with each model": generate\(\) did not end within 12 s/,
  },
  'an image provider that only ignores a caller who leaves': {
    test: `kit.describeImageProvider({
      upstream: ${IMAGE_UPSTREAM}, takesReferences: false,
      plugin: plugin('image', (context) => ({ imageProviders: [{
        models: [{ id: 'restless-1', maxReferences: 0, formats: ['png'] }],
        async generate({ prompt, size, signal }) {
          signal.throwIfAborted();
          // The kit's caller leaves a large picture alone.
          if (size.height === 2160) return goOn(context);
          const { body } = await context.http.request({ url: '${LINK}', body: prompt });
          return { bytes: body, contentType: 'image/png' };
        },
      }] })),
    });`,
    says: /plugin "restless", check "ends at once when the caller leaves": generate\(\) ignored its abort signal/,
  },
  'a text provider': {
    test: `kit.describeTextProvider({
      plugin: plugin('text', (context) => ({ textProviders: [{
        models: [{ id: 'restless-1', routes: ['chat_completions'], efforts: [] }], send: () => goOn(context),
      }] })),
    });`,
    says: /plugin "restless", check "answers chat_completions at once with each model that has it": send\(\) did not end within 12 s/,
  },
  'an audio provider': {
    test: `kit.describeAudioProvider({
      samples: [{ operation: 'speak' }],
      plugin: plugin('audio', (context) => ({ audioProviders: [{
        models: [{ id: 'restless-1', operations: ['speak'] }], speak: () => goOn(context),
      }] })),
    });`,
    says: /plugin "restless", check "sample 1: speak": speak\(\) did not end within 12 s/,
  },
  'an image provider behind a server for replays': {
    test: `it('is asked over HTTP', async () => {
      let isAsked;
      const asked = new Promise((resolve) => { isAsked = resolve; });
      const server = await openReplayServer({ fixtures: [], plugin: plugin('image', (context) => ({ imageProviders: [{
        models: [{ id: 'restless-1', maxReferences: 0, formats: ['png'] }],
        generate: () => (isAsked(), goOn(context)),
      }] })) });
      const client = new AbortController();
      const headers = { authorization: 'Bearer ' + server.apiKey, 'content-type': 'application/json' };
      const body = JSON.stringify({ model: 'restless-1', prompt: 'A lighthouse', size: '1024x1024' });
      const url = server.url + '/v1/images/generations';
      fetch(url, { method: 'POST', headers, body, signal: client.signal }).catch(() => {});
      await asked;
      await setTimeout(1_000);
      client.abort();
      await server.close();
    }).timeout(60_000);`,
    says: /1 passing/,
    passes: true,
  },
};

/** One of the kit, and one behind a server; each takes a process of mocha. */
const restless = namedVariants(RESTLESS, ['an extractor', 'an image provider behind a server for replays']);

describe('a plugin that ignores its signal', () => {
  let folder: string;
  let ended: Readonly<Record<string, Promise<Ended>>>;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-held-open-'));
    // Beside each other, since each waits for the limit of a call.
    const running = restless.map(([name, { test }], index) => [name, run(folder, index, test)] as const);
    for (const [, each] of running) each.catch(() => {});
    ended = Object.fromEntries(running);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  for (const [name, { says, passes = false }] of restless) {
    it(`does not hold mocha open: ${name}`, async () => {
      const { code, signal, output, isChildAlive } = (await ended[name])!;
      const how = { passes: code === 0, signal, isChildAlive };
      expect(how, output).to.deep.equal({ passes, signal: null, isChildAlive: false });
      expect(output, output).to.match(says);
    });
  }
});

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  output: string;
  /** Whether the process that the plugin has started still runs. */
  isChildAlive: boolean;
}

/** One test file in a mocha of its own, as an author's package runs it. */
async function run(folder: string, index: number, test: string): Promise<Ended> {
  const cwd = path.join(folder, String(index));
  const fixture = path.join(cwd, 'fixtures/one');
  await mkdir(path.join(cwd, 'test'), { recursive: true });
  await mkdir(fixture, { recursive: true });
  await writeFile(path.join(cwd, 'package.json'), '{}');
  await writeFile(path.join(fixture, 'exchanges.json'), '{"exchanges":[]}');
  await writeFile(path.join(cwd, 'test/restless.test.mjs'), `${GOES_ON}\n${test}`);
  const mocha = path.join(packageRoot, 'node_modules/mocha/bin/mocha.js');
  const child = spawn(process.execPath, [mocha, '--no-config', 'test/restless.test.mjs'], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = () => child.kill('SIGKILL');
  // One that is held open would never end.
  const timer = setTimeout(kill, HELD_MS);
  process.once('exit', kill);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
  const closed = once(child, 'close').then(() => true);
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  clearTimeout(timer);
  process.off('exit', kill);
  const isChildAlive = !(await Promise.race([closed, sleep(CLOSED_MS, false)]));
  if (isChildAlive) process.kill(Number(await readFile(path.join(cwd, 'child'), 'utf8')));
  return { code, signal, output, isChildAlive };
}

/** Several times what the checks take. */
const HELD_MS = 90_000;
const CLOSED_MS = 5_000;
