/** The floor under every route: Koa, a router, and a handler that does nothing but answer. */

import type { AddressInfo } from 'node:net';
import Router from '@koa/router';
import Koa from 'koa';

const router = new Router();
router.post('/v1/extract', (context) => {
  context.body = { ok: true };
});
const app = new Koa().use(router.routes());
const server = app.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
