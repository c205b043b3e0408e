/** Metadata documents of programs: fetched by the real client over TLS, and refused wherever they could lead elsewhere. */

import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import tls from 'node:tls';
import { expect } from 'chai';
import type { BrowserSession } from '../../support/accounts/browser-session.js';
import { createCertificateAuthority } from '../../support/http/certificates.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';
import { answerIn, CALLBACK, connectAgent, listTools, Memory, REGISTERED, redeem, requestFor } from './agent.js';

/** Of Node, whose types are those of its oldest version here. */
const trust = tls as unknown as {
  getCACertificates(kind: string): string[];
  setDefaultCACertificates(certificates: readonly string[]): void;
};

describe('metadata documents of agents', function () {
  this.timeout(60_000);
  let app: SignInApp;
  let ann: BrowserSession;
  let host: Server;
  let origin: string;
  let known: string[];
  let requests: string[];

  const documentOf = (path: string, changes: object = {}) => ({
    client_id: origin + path,
    client_name: 'Shipyard agent',
    redirect_uris: [REGISTERED],
    token_endpoint_auth_method: 'none',
    ...changes,
  });
  /** What each path answers. */
  const answers: Record<string, () => { status?: number; headers?: Record<string, string>; body: string }> = {
    '/agent.json': () => ({ body: JSON.stringify(documentOf('/agent.json')) }),
    '/redirect.json': () => ({ status: 302, headers: { location: `${origin}/agent.json` }, body: '' }),
    '/large.json': () => ({ body: JSON.stringify(documentOf('/large.json', { about: 'x'.repeat(64 * 1024) })) }),
    '/other.json': () => ({ body: JSON.stringify(documentOf('/agent.json')) }),
    '/secret.json': () => ({ body: JSON.stringify(documentOf('/secret.json', { client_secret: 'x' })) }),
    '/method.json': () => ({
      body: JSON.stringify(documentOf('/method.json', { token_endpoint_auth_method: 'client_secret_post' })),
    }),
    '/uris.json': () => ({
      body: JSON.stringify(documentOf('/uris.json', { redirect_uris: ['http://evil.example/'] })),
    }),
    '/text.json': () => ({ body: 'no JSON' }),
    '/list.json': () => ({ body: '[]' }),
    '/gone.json': () => ({ status: 404, body: '{}' }),
  };

  before(async () => {
    const authority = await createCertificateAuthority();
    known = trust.getCACertificates('default');
    trust.setDefaultCACertificates([...known, authority.pem]);
    const context = await authority.contextFor('localhost');
    host = createServer({ SNICallback: (_name, done) => done(null, context) }, ({ url = '' }, response) => {
      requests.push(url);
      const { status = 200, headers = {}, body } = answers[url]?.() ?? { status: 404, body: '' };
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
    }).listen(0, '127.0.0.1');
    await once(host, 'listening');
    origin = `https://localhost:${(host.address() as AddressInfo).port}`;
    app = await startSignInApp({ gateway: { trustedOrigins: [origin] } });
    ann = await app.signedIn('ann@example.com');
  });
  after(async () => {
    await app?.close();
    host?.close();
    host?.closeAllConnections();
    if (known) trust.setDefaultCACertificates(known);
  });
  beforeEach(() => {
    requests = [];
  });

  it('connect an agent by its address, without a registration, and are fetched once', async () => {
    const memory = new Memory({ documentUrl: `${origin}/agent.json` });
    const { client } = await connectAgent(app, ann, memory);
    expect((await client.listTools()).tools.length).to.be.above(0);
    await client.close();
    expect(memory.client?.client_id).to.equal(`${origin}/agent.json`);
    const { address, verifier } = requestFor(app, `${origin}/agent.json`);
    const page = await ann.open(address);
    expect(page.text).to.contain(`<code>${new URL(origin).host}</code>`);
    const back = await answerIn(ann, address, 'allow');
    expect(back.origin + back.pathname).to.equal(CALLBACK);
    const code = back.searchParams.get('code') ?? '';
    const { json } = await redeem(app, { clientId: `${origin}/agent.json`, code, verifier });
    expect((await listTools(app, json.access_token)).status).to.equal(200);
    expect(requests).to.deep.equal(['/agent.json']);
  });

  it('are not followed, not large, and name themselves and no secret', async () => {
    for (const path of Object.keys(answers).filter((one) => one !== '/agent.json')) {
      const { status, location } = await ann.send(requestFor(app, origin + path).address);
      expect([status, location], path).to.deep.equal([400, undefined]);
      expect(requests.splice(0), path).to.deep.equal([path]);
    }
  });

  it('are not fetched from private addresses, nor for ids that can be read in two ways', async () => {
    const { port } = host.address() as AddressInfo;
    const refused = [
      `https://127.0.0.1:${port}/agent.json`,
      `https://[::1]:${port}/agent.json`,
      `https://[::ffff:127.0.0.1]:${port}/agent.json`,
      `https://2130706433:${port}/agent.json`,
      `https://localhost:${port + 1}/agent.json`,
      'https://10.0.0.1/agent.json',
      'https://169.254.169.254/latest/meta-data',
      'https://metadata.internal/agent.json',
      `http://localhost:${port}/agent.json`,
      origin,
      `${origin}/`,
      `${origin}/agent.json#x`,
      `${origin}/x/../agent.json`,
      `https://user@localhost:${port}/agent.json`,
      `https://LOCALHOST:${port}/agent.json`,
      ` ${origin}/agent.json`,
    ];
    for (const id of refused) {
      const { status, location } = await ann.send(requestFor(app, id).address);
      expect([status, location], id).to.deep.equal([400, undefined]);
    }
    expect(requests).to.deep.equal([]);
  });
});
