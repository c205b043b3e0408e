/** Answers of every route against the API reference. */

import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { type ExtractCall, GatewayError, type ImageCall } from 'mediagate';
import echoText from 'mediagate/plugins/echo_text';
import { readReceiver } from '../../../server/payments/index.js';
import type { BrowserSession } from '../../support/accounts/browser-session.js';
import { inventedImage, inventedModel, MODEL } from '../../support/images/invented-image.js';
import { richPost } from '../../support/links/invented-documents.js';
import { invented } from '../../support/links/invented-plugin.js';
import { inventedShop } from '../../support/links/invented-shop.js';
import { variants } from '../../support/runner/variants.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';
import { type Answer, LINK } from '../http/listening-app.js';
import { DONG_ACCOUNT, PRICED, SECRETS } from '../payments/app.js';

interface Operation {
  tags: string[];
  security: Record<string, unknown[]>[];
  parameters: { name: string; in: string }[];
  requestBody?: { content: Record<string, unknown> };
  responses: Record<string, { description: string; content?: Record<string, { schema?: object }> }>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object> };
}

type Sent = Pick<Answer, 'status' | 'headers' | 'text'>;

interface Body {
  what: string;
  body?: string;
  type?: string;
}

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
const WRONG_KEY = 'sk-mg-AAAAAAAA-wrong';

/** Codes of any request, which the document does not repeat for each route. */
const ANYWHERE = [
  'bad_request',
  'internal_error',
  'shutting_down',
  'storage_error',
  'unsupported_value',
  'unsupported_parameter',
];

/** Bodies that a route refuses, or takes where it reads no field of them. */
const BODIES: readonly Body[] = [
  { what: 'no JSON', body: '{"model":', type: JSON_TYPE },
  { what: 'a list', body: '[1]', type: JSON_TYPE },
  { what: 'no field', body: '{}', type: JSON_TYPE },
  { what: 'a text', body: 'model', type: 'text/plain' },
  { what: 'too long', body: ' '.repeat(70_000), type: JSON_TYPE },
  {
    what: 'an unknown model',
    body: JSON.stringify({
      model: 'none',
      prompt: 'A',
      input: 'A',
      text: 'A',
      voice: 'a',
      max_tokens: 5,
      messages: [{ role: 'user', content: 'A' }],
    }),
    type: JSON_TYPE,
  },
  {
    what: 'wrong types',
    body: JSON.stringify({
      model: 5,
      url: 5,
      urls: 5,
      name: 5,
      planId: 5,
      client_id: 5,
      device_code: 5,
      input: 5,
      messages: 5,
    }),
    type: JSON_TYPE,
  },
  { what: 'a form', body: 'client_id=%00&device_code=none', type: FORM_TYPE },
];

/** Ends what the other requests need. */
const LAST = ['DELETE /api/user', 'DELETE /api/agent/session', 'DELETE /api/agent/sessions', 'POST /api/agent/session'];

async function extract({ link }: ExtractCall) {
  if (!link.id.endsWith('404')) return richPost(link.id);
  throw new GatewayError('removed', 'The item was removed.', { reason: 'It was taken down.' });
}

async function generate(call: ImageCall) {
  if (!call.prompt.includes('wreck')) return inventedImage(call);
  throw new GatewayError('moderation_blocked', 'The model refused the prompt.', { reason: 'No wrecks.' });
}

describe('the answers of every route', () => {
  let app: SignInApp;
  let browser: BrowserSession;
  let document: Document;
  let key: string;
  let narrowKey: string;
  let check: (schema: object, value: unknown) => string;

  before(async () => {
    app = await startSignInApp({
      catalogue: PRICED,
      paymentReceiver: readReceiver(DONG_ACCOUNT).receiver,
      paymentSecrets: SECRETS,
      messages: true,
      plugins: [
        { use: invented({ extract }) },
        { use: inventedShop() },
        { use: inventedModel(generate) },
        { use: echoText, options: { model: 'm-5.5' } },
      ],
    });
    browser = await app.signedIn();
    key = await app.makeKey({ grants: ['text', 'images', 'extract', 'audio'] });
    narrowKey = await app.makeKey({ grants: [] });
    document = (await app.request('/openapi.json')).json;
    check = createCheck(document);
  });
  after(() => app?.close());

  /** Of programs: pages are for browsers. Those that end the session come last. */
  const operations = () =>
    Object.entries(document.paths)
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([verb, operation]) => ({ path, method: verb.toUpperCase(), operation })),
      )
      .filter(({ operation }) => !operation.tags.includes('Pages'))
      .sort((a, b) => LAST.indexOf(`${a.method} ${a.path}`) - LAST.indexOf(`${b.method} ${b.path}`));

  /** What is wrong with an answer by the document; '' if nothing is. */
  function differenceOf({ responses }: Operation, { status, headers, text }: Sent): string {
    const { description = '', content = {} } = responses[status] ?? (status < 400 ? {} : (responses.default ?? {}));
    const [type = ''] = (headers.get('content-type') ?? '').split(';');
    const described = Object.entries(content).find(([name]) => name === type || name === type.replace(/\/.*/, '/*'));
    if (!described) return text === '' && description !== '' ? '' : `${status} ${type} is not described`;
    if (!type.includes('json')) return '';
    const body = JSON.parse(text);
    const code = typeof body.error === 'object' ? body.error?.code : body.code;
    const isNamed = code === undefined || ANYWHERE.includes(code) || description.includes(`\`${code}\``);
    if (status >= 400 && !isNamed) return `${code} is not described for ${status}`;
    return check(described[1].schema ?? {}, body);
  }

  it('match the document, for callers and bodies of all kinds', async () => {
    const differences = new Set<string>();
    const keys = { nobody: undefined, 'a wrong key': WRONG_KEY, 'a key without grants': narrowKey, 'a key': key };
    let errors = 0;
    for (const [turn, { path, method, operation }] of [...operations()].entries()) {
      const target = path.replace(/\{\w+\}/g, 'none');
      const isOfUser = operation.security.some((one) => 'session' in one);
      // Every run has the first body and every third of the others, in turn.
      const isTried = (body: Body) => body === BODIES[0] || (BODIES.indexOf(body) + turn) % 3 === 0;
      const bodies: readonly Body[] = method === 'POST' ? variants(BODIES, isTried) : [{ what: 'no body' }];
      for (const { what, body, type } of bodies) {
        const content = { ...(type !== undefined && { 'content-type': type }) };
        const note = (who: string, answer: Sent) => {
          if (answer.status >= 400) errors += 1;
          const difference = differenceOf(operation, answer);
          if (difference) differences.add(`${method} ${path} (${what}, ${who}): ${difference}`);
        };
        if (isOfUser) {
          const headers = { ...content, 'sec-fetch-site': 'same-origin' };
          note('a user', await browser.send(app.url + target, { method: method as 'GET', headers, body }));
        }
        for (const [who, one] of Object.entries(keys)) {
          // Who is refused is refused before the body is read.
          if (who !== 'a key' && body !== bodies[0]?.body) continue;
          if (isOfUser && one !== undefined) continue;
          const headers = { ...content, ...(one !== undefined && { authorization: `Bearer ${one}` }) };
          note(who, await app.request(target, { method, headers, redirect: 'manual', body: body ?? null }));
        }
      }
    }
    expect([...differences]).to.deep.equal([]);
    expect(errors).to.be.above(200);
  });

  /** Posts with the key, and expects the answer to be as described. */
  async function post(path: string, status: number, body: unknown, headers: Record<string, string> = {}) {
    const answer = await app.request(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': JSON_TYPE, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    expect(answer.status, answer.text).to.equal(status);
    expect(differenceOf(document.paths[path]?.post as Operation, answer), path).to.equal('');
    return answer;
  }

  it('match for failures of platforms and models', async () => {
    const link = await post('/v1/extract', 422, { url: `${LINK}404` });
    expect(link.json.error).to.include({ reason: 'It was taken down.', retryable: false });
    const image = await post('/v1/images/generations', 400, { model: MODEL, prompt: 'A wreck' });
    expect(image.json).to.include({ requested: 1, failed: 1 });
    expect(image.json.error.status_url).to.equal(`/v1/images/jobs/${image.json.error.job_id}`);
    await post('/v1/chat/completions', 404, { model: 'none', messages: [] });
  });

  it('match for event streams, and lists in the format of Anthropic', async () => {
    const messages = [{ role: 'user', content: 'Ahoy' }];
    await post('/v1/chat/completions', 200, { model: 'm-5.5', messages, stream: true });
    await post('/v1/responses', 200, { model: 'm-5.5', input: 'Ahoy', stream: true });
    await post('/v1/messages', 200, { model: 'm-5.5', messages, max_tokens: 50, stream: true });
    await post('/v1/messages', 200, { model: 'm-5.5', messages, max_tokens: 50 });
    const headers = { authorization: `Bearer ${key}`, 'anthropic-version': '2023-06-01' };
    for (const [path, target, status] of [
      ['/v1/models', '/v1/models?limit=1', 200],
      ['/v1/models', '/v1/models?limit=none', 400],
      ['/v1/models/{id}', '/v1/models/m-5.5', 200],
      ['/v1/models/{id}', '/v1/models/none', 404],
    ] as const) {
      const answer = await app.request(target, { headers });
      expect(answer.status, target).to.equal(status);
      expect(differenceOf(document.paths[path]?.get as Operation, answer), target).to.equal('');
    }
  });

  it('match for the device flow, with forms and with JSON', async () => {
    for (const encode of [(fields: object) => JSON.stringify(fields), encodeForm]) {
      const headers = { 'content-type': encode === encodeForm ? FORM_TYPE : JSON_TYPE };
      const poll = (code: string, more = {}) =>
        post('/api/agent/device/token', 400, encode({ device_code: code, ...more }), headers);
      const { json } = await post('/api/agent/device', 200, encode({ client_id: 'Shipyard CLI' }), headers);
      const states = [await poll(json.device_code), await poll(json.device_code), await poll('none')];
      states.push(await poll('none', { grant_type: 'password' }));
      const expected = ['authorization_pending', 'slow_down', 'invalid_grant', 'unsupported_grant_type'];
      expect(states.map((state) => state.json.error)).to.deep.equal(expected);
    }
  });

  it('are the documented problem if the client accepts problems', async () => {
    for (const [path, body] of [
      ['/v1/extract', { url: `${LINK}404` }],
      ['/v1/extract', {}],
      ['/v1/images/generations', { model: MODEL, prompt: 'A wreck' }],
      ['/v1/chat/completions', { model: 'none', messages: [] }],
    ] as const) {
      const headers = { authorization: `Bearer ${key}`, 'content-type': JSON_TYPE, accept: 'application/problem+json' };
      const answer = await app.request(path, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(answer.headers.get('content-type'), path).to.equal('application/problem+json');
      expect(check({ $ref: '#/components/schemas/Problem' }, answer.json), path).to.equal('');
    }
  });
});

function encodeForm(fields: object): string {
  return new URLSearchParams(Object.entries(fields)).toString();
}

/** Validates against the document; an error body must not have fields that it does not describe. */
function createCheck(document: Document): (schema: object, value: unknown) => string {
  const ajv = new Ajv2020({ strict: false });
  const closed = structuredClone(document);
  for (const [name, schema] of Object.entries(closed.components.schemas))
    if (/Error$|^Problem$/.test(name)) close(schema);
  ajv.addSchema(closed as AnySchema, 'document');
  const known = new Map<string, ReturnType<Ajv2020['compile']>>();
  return (schema, value) => {
    const text = JSON.stringify(schema).replaceAll('"#/', '"document#/');
    const validate = known.get(text) ?? ajv.compile(JSON.parse(text));
    known.set(text, validate);
    return validate(value) ? '' : ajv.errorsText(validate.errors);
  };
}

function close(schema: { properties?: Record<string, object>; additionalProperties?: boolean }): void {
  if (!schema.properties) return;
  schema.additionalProperties = false;
  for (const property of Object.values(schema.properties)) close(property);
}
