/** Requests of other sites to every route that writes. */

import { expect } from 'chai';
import { isLongRun, variants } from '../../support/runner/variants.js';
import { type Customer, type PaymentApp, startPaymentApp } from '../payments/app.js';

/** Each acts for nobody that a browser could be signed in as, and says by what it goes instead. */
const WITHOUT_SESSION: Readonly<Record<string, string>> = {
  'POST /api/agent/device': 'anybody begins a device flow; a person has to answer it',
  'POST /api/agent/device/token': 'the device code',
  'POST /api/payment/webhook/:provider': 'the signature',
  'POST /oauth/register': 'anybody registers a program; a person has to allow it',
  'POST /oauth/token': 'the code and its verifier, or the refresh token',
  'POST /oauth/revoke': 'the token',
};

/** What browsers tell of requests that a page of somebody else made them send. */
const ELSEWHERE: readonly Record<string, string>[] = [
  { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' },
  { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
  { 'sec-fetch-site': 'none' },
  { origin: 'https://evil.example' },
  { origin: 'null' },
  {},
];
const TYPES = ['application/json', 'text/plain', 'application/x-www-form-urlencoded'];

const OF_KEYS = / \/(v1\/|mcp$)/;

describe('every route that writes', () => {
  let app: PaymentApp;
  let ann: Customer;
  let key: string;
  let order: string;

  before(async () => {
    app = await startPaymentApp();
    ann = await app.customer('ann@example.com');
    key = (await ann.post('/api/user', {})).json.apiKey;
    order = await ann.order();
  });
  after(() => app?.close());

  const writing = () => app.routes.filter((route) => !/^(GET|HEAD) /.test(route));
  const fill = (path: string) => path.replace(':code', order).replace(':id', key.slice(6, 14));

  async function codesOf(route: string, prefix = ''): Promise<Set<string>> {
    const [method = '', path = ''] = route.split(' ');
    const codes = new Set<string>();
    for (const [turn, elsewhere] of ELSEWHERE.entries()) {
      // Every run has each route with a third of the signs of another site, and one type of body in turn.
      if (!isLongRun && (turn + path.length) % 3 !== 0) continue;
      const one = TYPES[(turn + path.length) % TYPES.length];
      for (const type of variants(TYPES, (each) => each === one)) {
        const headers = { cookie: ann.headers.cookie ?? '', 'content-type': type, ...elsewhere };
        const answer = await app.request(prefix + fill(path), { method, headers, body: '{}', redirect: 'manual' });
        codes.add(`${answer.status} ${answer.json?.error?.code}`);
      }
    }
    return codes;
  }

  it('refuses requests that another site made the browser send with a session', async () => {
    const routes = writing().filter((route) => !OF_KEYS.test(route) && !(route in WITHOUT_SESSION));
    expect(routes.length).to.be.at.least(11);
    for (const route of routes) {
      // For a user who is no operator there is no console, whatever the request is.
      const code = route.includes(' /admin/') ? '404 route_not_found' : '403 cross_site_request';
      expect([...(await codesOf(route))], route).to.deep.equal([code]);
    }
  });

  it('under /v1 and /mcp accepts only keys, not sessions or pages of another site', async () => {
    const routes = writing().filter((route) => OF_KEYS.test(route));
    expect(routes.length).to.be.at.least(15);
    for (const route of routes) {
      const statuses = [...(await codesOf(route))].map((code) => code.slice(0, 3));
      // The routes of operators are off.
      expect(statuses, route).to.deep.equal([route.includes(' /v1/admin/') ? '404' : '401']);
      if (route.includes(' /v1/'))
        expect([...(await codesOf(route, '/api/play'))], `${route} of pages`).to.deep.equal(['403 cross_site_request']);
    }
  });

  it('needs a session, except the listed routes', () => {
    expect(writing()).to.include.members(Object.keys(WITHOUT_SESSION));
  });

  it('changes nothing when it refuses', async () => {
    const { json } = await ann.get('/api/user');
    expect(json.keys.map(({ state }: { state: string }) => state)).to.deep.equal(['active']);
    expect((await ann.get(`/api/agent/payment/${order}`)).json.payment).to.include({ status: 'pending' });
    expect((await ann.get('/api/agent/payment')).json.payments).to.have.length(1);
  });
});
