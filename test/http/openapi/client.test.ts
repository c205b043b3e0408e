/** A client that is generated from the API reference. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import { inventedModel, MODEL } from '../../support/images/invented-image.js';
import { richPost } from '../../support/links/invented-documents.js';
import { invented } from '../../support/links/invented-plugin.js';
import { packageRoot } from '../../support/package-root.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';
import { LINK } from '../http/listening-app.js';

const run = promisify(execFile);
const TYPESCRIPT = path.join(packageRoot, 'node_modules', 'typescript', 'bin', 'tsc');

/** What is used of openapi-typescript. */
interface Generator {
  default(document: unknown): Promise<unknown[]>;
  astToString(nodes: unknown[]): string;
}

/** The generator needs the compiler's API of JavaScript, which TypeScript 7 does not have; this package has that of 6. */
const COMPILER = `import all from ${JSON.stringify(import.meta.resolve('@ts-morph/common'))}; export default all.ts;`;

async function loadGenerator(): Promise<Generator> {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== 'typescript' || !context.parentURL?.includes('/openapi-typescript/')) {
        return next(specifier, context);
      }
      return { url: `data:text/javascript,${encodeURIComponent(COMPILER)}`, shortCircuit: true };
    },
  });
  // Not a literal: the compiler need not find the package.
  const name = 'openapi-typescript';
  const generator: Generator = await import(name);
  hooks.deregister();
  return generator;
}

/** What a person writes with such a client: the answers have the types that the document says. */
const PROGRAM = `
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

type Code = components['schemas']['ErrorCode'];

export async function use(baseUrl: string, key: string, link: string, model: string) {
  const client = createClient<paths, 'application/json'>({ baseUrl, headers: { authorization: \`Bearer \${key}\` } });

  const body = { model: 'm-5.5', messages: [{ role: 'user', content: 'Ahoy' }], temperature: 0.5 };
  const chat = await client.POST('/v1/chat/completions', { body });
  const said = chat.data?.choices[0]?.message.content;

  const streamed = await client.POST('/v1/chat/completions', { body: { ...body, stream: true }, parseAs: 'stream' });
  const events = await new Response(streamed.data).text();

  const extracted = await client.POST('/v1/extract', { body: { url: link } });
  const data = extracted.data?.data;
  const title = data && 'common' in data ? data.common.title : undefined;

  const unknown = await client.POST('/v1/extract', { body: { url: 'https://nowhere.example/' } });
  const code: Code | undefined = unknown.error?.error.code;

  const submitted = await client.POST('/v1/images/jobs', { body: { model, prompt: 'A tug' } });
  const id = submitted.data?.id ?? '';
  const job = await client.GET('/v1/images/jobs/{id}', { params: { path: { id } } });

  const listed = await client.GET('/v1/models');
  const models = listed.data && 'object' in listed.data ? listed.data.data.map((one) => one.id) : [];

  const begun = await client.POST('/api/agent/device', { body: { client_id: 'Shipyard CLI' } });
  const polled = await client.POST('/api/agent/device/token', {
    body: { device_code: begun.data?.device_code ?? '' },
    bodySerializer: (fields) => new URLSearchParams({ device_code: fields.device_code }),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  });
  const state: 'authorization_pending' | undefined =
    polled.error?.error === 'authorization_pending' ? polled.error.error : undefined;

  return { said, events, title, code, jobStatus: job.data?.status, models, state, interval: polled.error?.interval };
}
`;

describe('a client that is generated from the API reference', () => {
  let app: SignInApp;
  let folder: string;
  let schema: string;
  let client: Record<string, (...values: string[]) => Promise<Record<string, unknown>>>;
  let key: string;

  before(async () => {
    app = await startSignInApp({
      plugins: [
        { use: invented({ extract: async ({ link }) => richPost(link.id) }) },
        { use: inventedModel() },
        { use: echoText, options: { model: 'm-5.5' } },
      ],
    });
    key = await app.makeKey({ grants: ['text', 'images', 'extract', 'audio'] });
    const { json: document } = await app.request('/openapi.json');
    const { default: generate, astToString } = await loadGenerator();
    schema = astToString(await generate(document));
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-client-'));
    await symlink(path.join(packageRoot, 'node_modules'), path.join(folder, 'node_modules'));
    await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }');
    await writeFile(path.join(folder, 'schema.ts'), schema);
    await writeFile(path.join(folder, 'program.ts'), PROGRAM);
    await writeFile(path.join(folder, 'examples.ts'), programOfExamples(document));
  });
  after(async () => {
    await app?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  it('has no type without fields', () => {
    const empty = [...schema.matchAll(/^.*Record<string, never>.*$/gm)].map(([line]) => line);
    // The generator's own types of parts that the document does not have.
    expect(empty.filter((line) => !/^export type (webhooks|\$defs) /.test(line))).to.deep.equal([]);
  });

  it('compiles, with every example of the document', async () => {
    const options =
      '--strict --noUncheckedIndexedAccess --target es2023 --lib es2023,dom,dom.iterable --module nodenext';
    const files = ['program.ts', 'examples.ts'];
    const compiled = run(process.execPath, [TYPESCRIPT, ...options.split(' '), '--types', '', ...files], {
      cwd: folder,
    });
    expect((await compiled.catch((error: { stdout: string }) => error)).stdout).to.equal('');
    const load = (name: string) => import(pathToFileURL(path.join(folder, name)).href);
    client = { ...(await load('program.js')), ...(await load('examples.js')) };
  });

  it('runs, and returns what its types declare', async () => {
    const used = await client.use?.(app.url, key, LINK, MODEL);
    expect(used?.said).to.be.a('string').with.length.above(0);
    expect(used?.events).to.match(/^data: \{.*data: \[DONE\]\s*$/s);
    expect(used).to.include({ code: 'unsupported_platform', state: 'authorization_pending', interval: 5 });
    expect(used?.title).to.match(/^Tugs/);
    expect(used?.jobStatus).to.be.oneOf(['queued', 'generating', 'completed']);
    expect(used?.models).to.include.members(['m-5.5', MODEL]);
  });

  it('sends the examples to the routes that have the model', async () => {
    const statuses = await client.sendExamples?.(app.url, key);
    const model = {
      'POST /v1/chat/completions': 200,
      'POST /v1/responses': 200,
      'POST /v1/responses/input_tokens': 200,
    };
    expect(statuses).to.include({ ...model, 'POST /v1/images/generations': 200, 'POST /api/agent/device': 200 });
    // Invented links, pictures and device codes, models and tasks that this gateway does not have, routes of a session.
    const refusals = {
      'POST /v1/extract': [400],
      'POST /v1/extract/answers': [400],
      'POST /v1/images/edits': [400],
      'POST /v1/embeddings': [503],
      'POST /v1/moderations': [503],
      'POST /v1/responses/compact': [400],
      // A passkey needs a name of the host, and the client calls an address.
      'POST /api/passkeys/recover': [503],
      'POST /api/invitation/options': [410, 503],
      // The invitation is invented.
      'POST /api/invitation': [410],
      'POST /api/agent/device/token': [400],
      'POST /oauth/register': [201],
      // The program and its tokens are invented.
      'POST /oauth/token': [401],
      'POST /oauth/revoke': [401],
    };
    for (const [route, status] of Object.entries(statuses ?? {})) {
      const expected = new Map(Object.entries(refusals)).get(route) ?? [200, 202, 401, 403, 404];
      expect(status, route).to.be.oneOf(expected);
    }
  });
});

interface Operation {
  parameters: { in: string; required?: boolean }[];
  requestBody?: { content: Record<string, { example?: unknown }> };
}

/** A function that sends the example of each request in JSON; the compiler checks it against the types. */
function programOfExamples({ paths }: { paths: Record<string, Record<string, Operation>> }): string {
  const calls = Object.entries(paths).flatMap(([route, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody, parameters }]) => {
      const example = requestBody?.content['application/json']?.example;
      if (example === undefined || parameters.some(({ required }) => required)) return [];
      const verb = method.toUpperCase();
      const body = JSON.stringify(example);
      return [
        `statuses['${verb} ${route}'] = (await client.${verb}('${route}', { body: ${body}, parseAs: 'stream' })).response.status;`,
      ];
    }),
  );
  return `
import createClient from 'openapi-fetch';
import type { paths } from './schema.js';

export async function sendExamples(baseUrl: string, key: string) {
  const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${key}\` } });
  const statuses: Record<string, number> = {};
  ${calls.join('\n  ')}
  return statuses;
}
`;
}
