/** The API reference: validity, examples, and a description of every part. */

import { randomBytes } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import { createPepper } from '../../../server/keys/index.js';
import type { BrowserSession } from '../../support/accounts/browser-session.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { inventedModel, MODEL } from '../../support/images/invented-image.js';
import { richPost, richProduct } from '../../support/links/invented-documents.js';
import { invented } from '../../support/links/invented-plugin.js';
import { inventedShop, productLink } from '../../support/links/invented-shop.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';
import { LINK } from '../http/listening-app.js';

interface Media {
  schema?: Schema;
  example?: unknown;
}

interface Schema {
  description?: string;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  $ref?: string;
}

/** The fields below a schema that have no description, as dotted paths. */
function undescribed(schema: Schema | undefined, path: string): string[] {
  const { properties = {}, patternProperties = {}, items, anyOf = [] } = schema ?? {};
  return [
    ...Object.entries(properties).flatMap(([name, field]) => [
      ...(field.description ? [] : [`${path}.${name}`]),
      ...undescribed(field, `${path}.${name}`),
    ]),
    ...[...Object.values(patternProperties), ...(items ? [items] : []), ...anyOf].flatMap((one) =>
      undescribed(one, path),
    ),
  ];
}

/** The parameters and fields of an operation that have no description. */
function undescribedParts({ parameters, requestBody, responses }: DescribedOperation, name: string): string[] {
  const media = [requestBody, ...Object.values(responses)].flatMap((one) => Object.values(one?.content ?? {}));
  return [
    ...parameters.filter(({ description }) => !description).map((parameter) => `${name} ${parameter.name}`),
    ...media.flatMap(({ schema }) => undescribed(schema, name)),
  ];
}

interface DescribedOperation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Record<string, unknown[]>[];
  parameters: { name: string; in: string; description?: string; required?: boolean }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { description: string; content?: Record<string, Media> }>;
}

interface Document {
  openapi: string;
  tags: { name: string }[];
  paths: Record<string, Record<string, DescribedOperation>>;
  webhooks: Record<string, { post: DescribedOperation }>;
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, object> };
}

describe('the API reference', () => {
  let app: SignInApp;
  let browser: BrowserSession;
  let document: Document;
  let ajv: Ajv2020;

  before(async () => {
    app = await startSignInApp({
      plugins: [
        { use: invented({ extract: async ({ link }) => richPost(link.id) }) },
        { use: inventedShop({ extract: async ({ link }) => richProduct(link.id) }) },
        { use: inventedModel() },
        { use: echoText, options: { model: 'm-5.5' } },
      ],
    });
    browser = await app.signedIn();
    const user = (await app.state.users.list({ limit: 1 }))[0]!;
    await useAccount(app.state, user, createPepper(randomBytes(32)));
    document = (await app.request('/openapi.json')).json;
    ajv = new Ajv2020({ strict: false, allErrors: true });
    ajv.addSchema(document, 'document');
  });
  after(() => app?.close());

  const operations = () =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );

  /** A schema of the document, whose references lead into it. */
  const check = (schema: object, value: unknown): string => {
    const placed = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/'));
    const validate = ajv.compile(placed);
    return validate(value) ? '' : ajv.errorsText(validate.errors);
  };

  it('is a consistent OpenAPI 3.1 document', () => {
    expect(document.openapi).to.equal('3.1.0');
    const names = operations().map(({ operation }) => operation.operationId);
    expect(new Set(names).size).to.equal(names.length);
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
    expect(references.length).to.be.above(20);
    for (const [, name = ''] of references) expect(document.components.schemas).to.have.property(name);
    const tags = document.tags.map(({ name }) => name);
    for (const { path, method, operation } of operations()) {
      const where = `${method} ${path}`;
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const described = operation.parameters.filter((one) => one.in === 'path');
      expect(
        described.map(({ name }) => name),
        where,
      ).to.deep.equal(inPath);
      expect(
        described.every(({ required }) => required),
        where,
      ).to.equal(true);
      expect(tags, where).to.include.members(operation.tags);
      expect(operation.responses, where).to.have.property('default');
      for (const security of operation.security)
        expect(document.components.securitySchemes, where).to.include.keys(...Object.keys(security));
    }
  });

  it('has JSON Schema 2020-12 schemas, and valid examples', () => {
    let examples = 0;
    for (const { path, method, operation } of operations()) {
      const answers = Object.values(operation.responses).flatMap(({ content = {} }) => Object.values(content));
      for (const { schema, example } of [...Object.values(operation.requestBody?.content ?? {}), ...answers]) {
        if (!schema) continue;
        expect(ajv.validateSchema(schema), `${method} ${path}`).to.equal(true);
        if (example === undefined) continue;
        expect(check(schema, example), `${method} ${path}`).to.equal('');
        examples += 1;
      }
    }
    expect(examples).to.be.above(10);
  });

  it('describes every operation and every response', () => {
    for (const { path, method, operation } of operations()) {
      const { summary, description, responses } = operation;
      const where = `${method} ${path}`;
      expect(summary, where)
        .to.match(/^[A-Z].*[^.]$/)
        .and.have.length.below(40);
      expect(description, where).to.match(/^[A-Z].*\.$/);
      for (const response of Object.values(responses)) expect(response.description, where).to.match(/\S/);
    }
  });

  it('describes every parameter, every schema with a name, and every field', () => {
    const { components, webhooks } = document;
    const named = Object.entries(components.schemas);
    const missing = [
      ...named.flatMap(([name, schema]) => [...(schema.description ? [] : [name]), ...undescribed(schema, name)]),
      ...operations().flatMap(({ path, method, operation }) => undescribedParts(operation, `${method} ${path}`)),
      ...Object.entries(webhooks).flatMap(([name, { post }]) => undescribedParts(post, name)),
    ];
    expect(missing).to.deep.equal([]);
  });

  it('describes the answers of the routes', async () => {
    const submitted = await ask('POST', '/v1/images/jobs', 202, { model: MODEL, prompt: 'A tug' });
    await ask('GET', '/v1/images/jobs/:id', 200, undefined, submitted.status_url);
    await ask('POST', '/v1/images/generations', 200, { model: MODEL, prompt: 'A tug' });
    await ask('GET', '/v1/capabilities', 200);
    await ask('POST', '/v1/extract', 200, { url: LINK });
    await ask('POST', '/v1/extract', 200, { url: productLink('3') });
    const job = await ask('POST', '/v1/extract', 200, { url: productLink('4'), async_mode: true });
    await ask('GET', '/v1/extract/jobs/:id', 200, undefined, job.data.job.status_url);
    await ask('POST', '/v1/extract/batch', 200, { urls: [LINK, 'https://nowhere.example/', productLink('5')] });
    await ask('GET', '/v1/models', 200);
    await ask('GET', '/v1/models/:id', 200, undefined, '/v1/models/m-5.5');
    await ask('POST', '/v1/chat/completions', 200, { model: 'm-5.5', messages: [{ role: 'user', content: 'Ahoy' }] });
    await ask('POST', '/v1/responses', 200, { model: 'm-5.5', input: 'Ahoy' });
    await ask('GET', '/v1/usage', 200);
    for (const path of ['manifest', 'plans', 'session', 'setup', 'payment'])
      await ask('GET', `/api/agent/${path}`, 200);
    await ask('GET', '/api/user', 200);
    await ask('POST', '/api/user/keys', 201, { name: 'one more' });
    await ask('POST', '/api/agent/device', 200, { client_id: 'Shipyard CLI' });
    for (const path of ['/health', '/health/live', '/health/ready', '/openapi.json']) await ask('GET', path, 200);
  });

  it('describes errors with the codes of each status', async () => {
    await ask('POST', '/v1/extract', 400, { url: 'https://nowhere.example/' });
    await ask('POST', '/v1/extract', 400, {});
    await ask('POST', '/v1/images/jobs', 400, { model: MODEL });
    await ask('GET', '/v1/images/jobs/:id', 404, undefined, '/v1/images/jobs/none');
    await ask('POST', '/v1/chat/completions', 404, { model: 'none', messages: [] });
    await ask('POST', '/api/user', 409, { name: 'first' });
    await ask('POST', '/api/agent/payment', 409, { planId: 'token_30m' });
  });

  /** Asks with the session, as the page of a site does, and holds the answer to what is described. */
  async function ask(method: 'GET' | 'POST', route: string, status: number, json?: unknown, path = route) {
    const target = app.url + (path.startsWith('/v1/') ? `/api/play${path}` : path);
    const headers = { accept: 'application/json', 'sec-fetch-site': 'same-origin' };
    const answer = await browser.send(target, { method, json, headers });
    expect(answer.status, `${method} ${path}: ${answer.text}`).to.equal(status);
    const body = JSON.parse(answer.text);
    const described = document.paths[route.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]?.responses[status];
    const schema = described?.content?.['application/json']?.schema;
    expect(schema, `${method} ${route} ${status}`).to.be.an('object');
    expect(check(schema!, body), `${method} ${route} ${status}`).to.equal('');
    if (status >= 400) expect(JSON.stringify(described), route).to.contain(`\`${body.error.code}\``);
    return body;
  }
});
