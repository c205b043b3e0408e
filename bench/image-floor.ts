import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import Router from '@koa/router';
import Koa from 'koa';
import { createGateway, createLogger, type Gateway, type ImageJob, openState, systemClock } from 'mediagate';
import {
  createApp,
  createHealth,
  createHttpServer,
  createPepper,
  createUsageDesk,
  openKeyTable,
} from 'mediagate/server';
import { PEPPER } from '../test/torture/image-site.js';

/*
 * What is under every route of images, each in a server of its own: the same server without any storage of jobs; Koa, a
 * router and a handler that does nothing; a plain server of files. `node image-floor.js DATA_FOLDER`.
 */
const [folder = ''] = process.argv.slice(2);
const address = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const listen = async (server: Server) => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return address(server);
};

/** As the real one answers, with nothing behind it. */
function withoutStorage(gateway: Gateway): Gateway {
  const times = { createdAt: Date.now(), startedAt: null, finishedAt: null, expiresAt: null };
  const job: ImageJob = {
    ...{ id: `imgjob_${'0'.repeat(32)}`, state: 'queued', model: 'gen-img-2', delivery: 'url', requestId: null },
    ...{ attempts: 0, error: null },
    ...times,
  };
  return { ...gateway, images: { ...gateway.images, submit: async () => ({ job, replayed: false }) } };
}

const logger = createLogger({ level: 'error' });
const state = await openState({ dataDir: folder, clock: systemClock, logger });
const keys = await openKeyTable({
  keys: state.keys,
  peppers: [createPepper(Buffer.from(PEPPER))],
  clock: systemClock,
  logger,
});
const gateway = withoutStorage(await createGateway({ plugins: [], services: { logger, clock: systemClock } }));
const health = createHealth({ gateway, wants: [], clock: systemClock, checks: {} });
const links = { baseUrl: () => 'http://127.0.0.1:8787', anyImageSize: true };
const { windows, admissions } = state;
const usage = createUsageDesk({ admissions, clock: systemClock });
const app = createApp({ gateway, windows, usage, keys, health, logger, clock: systemClock, ...links });

const router = new Router();
router.get('/v1/images/jobs/:id', (context) => {
  context.body = { ok: true };
});
const koa = new Koa().use(router.routes());

const files = createServer(async (request, response) => {
  const file = path.join(folder, 'files', path.basename(request.url ?? ''));
  const { size } = await stat(file);
  response.writeHead(200, { 'content-type': 'image/png', 'content-length': size });
  createReadStream(file).pipe(response);
});

process.send?.({
  submits: await listen(createHttpServer({ handler: app.callback(), maxConnections: 1_000 })),
  koa: await listen(createServer(koa.callback())),
  files: await listen(files),
});
