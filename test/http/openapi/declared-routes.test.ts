/** Every declared GET route with and without the required grant. */

import { expect } from 'chai';
import type { Route } from '../../../server/http/index.js';
import { type PaymentApp, startPaymentApp } from '../payments/app.js';

/** Public routes that answer something only when asked with parameters. */
const WITH_PARAMETERS = ['/signin/callback', '/api/payment/gateway'];
/** Pages of requests for access, which a program or an earlier page leads to. */
const WITH_REQUEST = ['/oauth/authorize', '/oauth/authorize/:uid'];
const WRONG_KEY = 'Bearer sk-mg-AAAAAAAA-wrong';

describe('every declared GET route', () => {
  let app: PaymentApp;
  let routes: readonly Route[];

  before(async () => {
    app = await startPaymentApp();
    routes = app.declaredRoutes().filter(({ method }) => method === 'GET');
  });
  after(() => app?.close());

  /** What a caller may be answered: status, and the code of the error. */
  function expectedOf({ grant, format, path }: Route, isKeySent: boolean): readonly string[] {
    if (grant === 'session') return format === 'page' ? ['303'] : ['401 not_signed_in'];
    if (grant === 'admin') return ['404 route_not_found'];
    if (grant !== 'none') return [isKeySent ? '401 invalid_api_key' : '401 missing_api_key'];
    if (path === '/oauth/userinfo') return ['401 invalid_token'];
    if (WITH_REQUEST.includes(path)) return ['400 agent_request_invalid'];
    if (path.includes(':')) return [format === 'page' ? '404 route_not_found' : '404 file_not_found'];
    return WITH_PARAMETERS.includes(path) ? ['400 sign_in_failed', '400 missing_required_parameter'] : ['200', '303'];
  }

  for (const [caller, headers] of [
    ['without credentials', {}],
    ['with a wrong key', { authorization: WRONG_KEY }],
  ] as const) {
    it(`answers a caller ${caller} as its grant requires`, async () => {
      expect(routes.length).to.be.at.least(35);
      for (const route of routes) {
        const target = route.path.replace(/:\w+/g, 'none');
        const { status, json } = await app.request(target, { headers, redirect: 'manual' });
        const answer = status < 400 ? String(status) : `${status} ${json?.error?.code ?? json?.error}`;
        expect(answer, route.path).to.be.oneOf(expectedOf(route, 'authorization' in headers));
        if (status < 400) expect(route.answers, route.path).to.have.property(String(status));
      }
    });
  }
});
