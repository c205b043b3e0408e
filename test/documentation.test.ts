import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { createGateway, createLogger, type Gateway, type Plugin, readPluginConfig, systemClock } from 'mediagate';
import {
  createAnswerDesk,
  createHealth,
  createIdentity,
  createMetrics,
  createPaymentDesk,
  createPepper,
  createRouter,
  createSiteAddress,
  createUsageDesk,
  DEFAULT_CATALOGUE,
  ERROR_CLASSES,
  GATEWAY_ENDPOINTS,
  type KeyTable,
  openKeyTable,
  type Pepper,
  PLUGIN_SETTING_DESCRIPTIONS,
  SETTING_DESCRIPTIONS,
  SITE_ENDPOINTS,
} from 'mediagate/server';
import { OPERATIONS } from '../server/openapi/document.js';
import { openState, type State } from '../server/state.js';
import { readReadmeTable, renderTable, writeReadmeTable } from './support/document-tables.js';
import { packageRoot } from './support/package-root.js';

/** What README says about a route, besides its method and path; a route without a note here is not documented. */
const ROUTE_NOTES: Readonly<Record<string, readonly [key: string, what: string]>> = {
  'GET /health': ['none', 'How the process and each platform are; see Health. Always 200 while it serves.'],
  'GET /health/live': ['none', 'The process answers.'],
  'GET /health/ready': ['none', '200 where requests may be sent here; 503 while it ends or the database is away.'],
  'GET /metrics': ['none', 'Figures for Prometheus. On a listener of their own unless `METRICS_PUBLIC` is on.'],
  'POST /v1/images/jobs': ['`images`', 'One image as a durable job; answers 202 at once.'],
  'GET /v1/images/jobs/:id': [
    '`images`',
    'How an image job is doing, and its image once there is one; `?wait=` holds on.',
  ],
  'GET /v1/images/jobs/:id/events': ['`images`', 'The same as server-sent events, until it has ended.'],
  'DELETE /v1/images/jobs/:id': ['`images`', 'Cancels an image job that has not ended.'],
  'POST /v1/images/jobs/:id/cancel': ['`images`', 'The same for clients that cannot send DELETE.'],
  'POST /v1/images/generations': ['`images`', 'One image; answers when it is ready, as OpenAI clients expect.'],
  'GET /v1/webhooks/secret': ['`images`', 'What webhooks of the account are signed with; 403 where they are off.'],
  'POST /v1/webhooks/secret/rotate': ['`images`', 'Another such secret; for 24 hours the one before signs as well.'],
  'GET /v1/images/files/:name': ['none', 'The file of a finished image.'],
  'GET /v1/capabilities': ['`extract`', 'Platforms, their link forms and features, limits.'],
  'GET /v1/extract/audio/:name.mp3': ['none', 'The MP3 behind a link of an extraction; made at the first request.'],
  'POST /v1/extract': ['`extract`', 'A public link in, a structured document out; of shop links also as a job.'],
  'GET /v1/extract/jobs/:id': ['`extract`', 'How a background job is doing, and its document once there is one.'],
  'DELETE /v1/extract/jobs/:id': [
    '`extract`',
    'Cancels a background job that has not ended, for the account that asks.',
  ],
  'POST /v1/audio/transcriptions': ['`audio`', 'A sound in, what is said in it out: JSON, text or subtitles.'],
  'POST /v1/audio/translations': ['`audio`', 'The same in English, whatever is spoken.'],
  'POST /v1/audio/speech': ['`audio`', 'A text in, speech out, while it is made.'],
  'POST /v1/audio/voice-changer': ['`audio`', 'A sound in, the same in another voice out.'],
  'POST /v1/audio/sound-effects': ['`audio`', 'A description in, a sound out.'],
  'POST /v1/chat/completions': ['`text`', 'A chat, whole or streamed, in the format of the OpenAI SDKs.'],
  'POST /v1/responses': ['`text`', 'A response, whole or streamed, as the OpenAI SDKs and coding agents ask for it.'],
  'POST /v1/responses/compact': ['`text`', 'A long conversation made shorter, where the upstream does that.'],
  'POST /v1/responses/input_tokens': ['`text`', 'How many tokens a request would have.'],
  'GET /v1/responses/:id': ['`text`', 'A response that was stored where it was made.'],
  'DELETE /v1/responses/:id': ['`text`', 'Deletes it there.'],
  'POST /v1/responses/:id/cancel': ['`text`', 'Ends one that is made in the background.'],
  'GET /v1/responses/:id/input_items': ['`text`', 'What a stored response answers.'],
  'GET /v1/models': [
    '`text` or `audio`',
    "Models that are ready and that the plan of the key allows; see also [Anthropic's format](#anthropics-format).",
  ],
  'GET /v1/models/:id': ['`text` or `audio`', 'One of them.'],
  'POST /v1/messages': [
    '`text`',
    "A message, whole or streamed, in Anthropic's format; 403 unless `MESSAGES_ENABLED`. Accepts `X-API-Key`.",
  ],
  'POST /v1/messages/count_tokens': ['`text`', 'How many tokens such a request would have; likewise.'],
  'GET /': ['none', 'First page of the site: what the gateway does, plans.'],
  'GET /login': ['none', 'Page that says who signs people in, and what is never asked for.'],
  'GET /plans': ['none', 'Page of the plans; who is signed in chooses one.'],
  'GET /setup': ['none', 'Page with a working setup for each kind of client, to copy.'],
  'GET /playground': ['session', 'Page on which links, images and models are tried out.'],
  'GET /docs': ['none', 'The API reference for people.'],
  'GET /docs/:version/:name': ['none', 'Files of its viewer.'],
  'GET /openapi.json': ['none', 'The API reference for programs: OpenAPI 3.1.'],
  'GET /dashboard': ['session', 'Page of the account: keys, plan, usage, windows, jobs, orders.'],
  'GET /pay/:code': ['session', 'Page of an order of its account: QR code, where the money goes, how it stands.'],
  'GET /assets/:version/:name': ['none', 'Style, scripts and fonts of the pages; kept for ever by whoever asks.'],
  'GET /signin': ['none', 'Leads to the identity provider; `?return_to=` names the page of the site to come back to.'],
  'GET /signin/callback': ['none', 'Where the identity provider sends people back to.'],
  'POST /signout': ['session', 'Ends the session; for forms of the site.'],
  'POST /signout/everywhere': ['session', 'Ends all sessions of the user; for forms of the site.'],
  'DELETE /api/agent/session': ['session', 'Ends the session.'],
  'POST /api/agent/session': ['session', 'The same for clients that cannot send DELETE; a JSON body.'],
  'POST /api/agent/device': [
    'none',
    'Begins the device flow (RFC 8628): codes for a program, and where a person enters them.',
  ],
  'POST /api/agent/device/token': [
    'none',
    'Asked until the person has answered; then gives a bearer token for 12 hours.',
  ],
  'GET /device': ['session', 'Page where a person sees which program asks to be let in.'],
  'POST /device': ['session', 'Lets it in or refuses it.'],
  'GET /v1/usage': ['any', 'What the key itself used, by day and model, and what it has left; `?from=&to=` name days.'],
  'POST /v1/extract/batch': ['`extract`', 'Up to 50 links at once: a document, a job or an error for each.'],
  'GET /api/agent/manifest': ['none', 'What the service is: addresses, plans, models, client setup, rules.'],
  'GET /api/agent/plans': ['none', 'The plans, the free tier, where terms are to be had.'],
  'DELETE /api/agent/sessions': ['session', 'Ends all sessions of the user; API keys go on.'],
  'GET /api/agent/session': ['none', 'Who is signed in, and whether they have a plan and keys.'],
  'GET /api/agent/setup': ['none', 'How clients are set up, as JSON or Markdown; `?client=` for one of them.'],
  'GET /api/user': ['session', 'Profile, plan, what is left of it, keys (masked) and usage; `?from=&to=` name days.'],
  'POST /api/user': ['session', 'Makes the first key and shows it, this once; 409 where there is a good one.'],
  'DELETE /api/user': ['session', 'Revokes every key of the account.'],
  'POST /api/user/keys': ['session', 'Makes one more key, ten at the most.'],
  'POST /api/user/rotate': ['session', 'Replaces a key; the old one goes on for `overlapHours` (24).'],
  'POST /api/agent/payment': ['session', 'Orders a plan: what to transfer, where to, as text and as a QR code.'],
  'GET /api/agent/payment': ['session', 'Orders of the account, newest first.'],
  'GET /api/agent/payment/:code': ['session', 'One of them.'],
  'POST /api/agent/payment/:code/cancel': ['session', 'Cancels one for which no money has come; a JSON body.'],
  'GET /api/agent/payment/:code/qr.svg': ['session', 'QR code of an open order.'],
  'GET /api/agent/payment/:code/qr.png': ['session', 'The same as PNG.'],
  'GET /api/payment/gateway': ['none', 'How the order of `?code=` stands; `?wait=` holds on until that changes.'],
  'POST /api/payment/webhook/:provider': ['a signature', 'Where banks tell of transfers; see Payments.'],
  'POST /api/user/keys/:id/revoke': ['session', 'Revokes a key.'],
};

/** Whatever programs ask; the rest is for browsers, banks and those who measure. */
const API_ROUTE = / \/(health|v1|api\/(agent|user|payment\/gateway))\b/;

const CONFIG = path.join(packageRoot, 'plugins.config.json');

describe("README's tables equal the code", () => {
  let folder: string;
  let state: State;
  let keys: KeyTable;
  let gateway: Gateway;
  let pepper: Pepper;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-docs-'));
    const logger = createLogger({ level: 'silent' });
    state = await openState({ dataDir: folder, clock: systemClock, logger });
    pepper = createPepper(Buffer.alloc(32, 'documentation'));
    keys = await openKeyTable({ keys: state.keys, peppers: [pepper], clock: systemClock, logger });
    gateway = await createGateway({ plugins: await readPluginConfig(CONFIG, {}), baseFolder: packageRoot });
  });

  after(async () => {
    await gateway.close();
    await keys.close();
    await state.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('plugins: those of plugins.config.json', async () => {
    const entries = await readPluginConfig(CONFIG, {});
    const rows = await Promise.all(
      [...new Set(entries.map(({ use }) => use))].map(async (use) => {
        const { default: plugin }: { default: Plugin } = await import(String(use));
        const schema: { properties?: object } = plugin.options ?? {};
        const options = Object.keys(schema.properties ?? {}).map((name) => `\`${name}\``);
        const folderLink = `[\`${plugin.name}\`](plugins/${plugin.name})`;
        return [folderLink, plugin.provides.join(', '), plugin.summary, options.join(' ') || 'none'];
      }),
    );
    expectTable('plugins', renderTable(['plugin', 'provides', 'what it does', 'options'], rows));
  });

  it('platforms: link forms and rungs of the extractors', () => {
    const rows = gateway.platforms().map(({ key, name, linkForms, rungs }) => {
      const forms = linkForms.map((form) => `\`${form}\``).join(' ');
      return [`\`${key}\``, name, forms, rungs.map((rung) => `\`${rung.name}\``).join(' ')];
    });
    expectTable('platforms', renderTable(['platform', 'is', 'link forms', 'rungs, best first'], rows));
  });

  async function routesOfRouter(): Promise<string[]> {
    const health = createHealth({ gateway, wants: [], clock: systemClock, checks: {} });
    const logger = createLogger({ level: 'silent' });
    const { windows, budgets, admissions, usage: ledger } = state;
    const links = { baseUrl: () => 'http://127.0.0.1:8787', anyImageSize: true };
    const clock = systemClock;
    const usage = createUsageDesk({ admissions, clock });
    const metrics = await createMetrics({ clock });
    const site = createSiteAddress(links.baseUrl);
    const identity = createIdentity({ gateway, settings: { host: '127.0.0.1' }, site });
    const plans = { catalogue: DEFAULT_CATALOGUE, freeTierPeriod: 'lifetime' } as const;
    const payments = createPaymentDesk({ orders: state.orders, ...plans });
    const account = { state, site, identity, ...plans, payments, paymentSecrets: {}, pepper };
    const all = { ...links, metrics, publicMetrics: true, account };
    const { keptAnswers, files } = state;
    const answers = createAnswerDesk({ answers: keptAnswers, files, clock, logger, drain: health.drain });
    const counting = { windows, usage, answers, budgets, ledger };
    const router = createRouter({ gateway, ...counting, keys, health, logger, clock, ...all });
    health.close();
    return router.stack.flatMap((layer) =>
      // Where GET is, HEAD is as well.
      layer.methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${layer.path}`),
    );
  }

  it('routes: those of the router', async () => {
    const routes = await routesOfRouter();
    const rows = routes.map((route) => [`\`${route}\``, ...(ROUTE_NOTES[route] ?? ['', `(no note for ${route})`])]);
    expect(routes).to.have.members(Object.keys(ROUTE_NOTES));
    expect(routes, 'in the API reference').to.have.members(Object.keys(OPERATIONS));
    expectTable('routes', renderTable(['route', 'grant', 'what it does'], rows));
  });

  it('manifest: addresses of the API, all of them and no other', async () => {
    const endpoints = [...GATEWAY_ENDPOINTS, ...SITE_ENDPOINTS];
    const named = endpoints.flatMap(({ methods, path: address }) =>
      methods.map((method) => `${method} ${address.replace(/\{\w+\}/g, ':')}`),
    );
    const pages = ['GET /signin', 'GET /device'];
    const routes = (await routesOfRouter()).filter((route) => pages.includes(route) || API_ROUTE.test(route));
    expect(named).to.have.members(routes.map((route) => route.replace(/:\w+/g, ':')));
    expect(new Set(endpoints.map(({ name }) => name)).size).to.equal(endpoints.length);
  });

  it('metrics: those of a process, as it says what they are', async () => {
    const text = await (await createMetrics({ clock: systemClock })).render();
    const kinds = new Map(
      Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name = '', kind = '']) => [name, kind]),
    );
    const rows = Array.from(text.matchAll(/^# HELP (mediagate_\S+) (.+)$/gm), ([, name = '', help = '']) => [
      `\`${name}\``,
      kinds.get(name) ?? '',
      help,
    ]);
    expectTable('metrics', renderTable(['figure', 'is a', 'says'], rows));
  });

  it('settings: those that are read from the environment', () => {
    const rows = SETTING_DESCRIPTIONS.map((setting) => [`\`${setting.name}\``, setting.default, setting.description]);
    expectTable('settings', renderTable(['variable', 'default', 'what it does'], rows));
  });

  it('settings of real models: those that plugins.config.json reads', () => {
    const rows = PLUGIN_SETTING_DESCRIPTIONS.map((one) => [`\`${one.name}\``, one.default, one.description]);
    expectTable('plugin-settings', renderTable(['variable', 'default', 'what it does'], rows));
  });

  it('error codes: those of the status table', () => {
    const groups = new Map<string, { status: number; type: string; codes: string[] }>();
    for (const [code, { status, type }] of Object.entries(ERROR_CLASSES)) {
      const group = groups.get(`${status} ${type}`) ?? { status, type, codes: [] };
      group.codes.push(`\`${code}\``);
      groups.set(`${status} ${type}`, group);
    }
    const rows = [...groups.values()]
      .sort((one, other) => one.status - other.status || one.type.localeCompare(other.type))
      .map(({ status, type, codes }) => [String(status), `\`${type}\``, codes.join(' ')]);
    expectTable('errors', renderTable(['status', '`error.type`', '`error.code`'], rows));
  });

  it('install scripts: those of the production packages of the lock file, which a checkout does not run', async () => {
    const lock: { packages: Record<string, { hasInstallScript?: boolean; dev?: boolean }> } = JSON.parse(
      await readFile(path.join(packageRoot, 'package-lock.json'), 'utf8'),
    );
    const names = Object.entries(lock.packages)
      .filter(([, { hasInstallScript, dev }]) => hasInstallScript && !dev)
      .map(([place]) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length));
    // One package for each kind of machine.
    const listed = new Set(names.map((name) => name.replace(/^(@ffmpeg-installer)\/.+/, '$1/*')));
    const rows = [...(readReadmeTable('install-scripts') ?? '').matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name);
    expect(rows).to.have.members([...listed]);
    expect(await readFile(path.join(packageRoot, '.npmrc'), 'utf8')).to.match(/^ignore-scripts=true$/m);
  });

  it('contents: every chapter, in order', async () => {
    const text = await readFile(path.join(packageRoot, 'README.md'), 'utf8');
    const chapters = [...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
    const [contents = ''] = text.split('\n## ', 1);
    const listed = [...contents.matchAll(/\[([^\]]+)\]\(#[a-z-]+\) *(?:·|<br>|\n*$)/g)].map(([, title]) => title);
    expect(listed).to.deep.equal(chapters);
  });

  it('commands: the scripts that README tells to run exist', async () => {
    const readme = await readFile(path.join(packageRoot, 'README.md'), 'utf8');
    const { scripts } = JSON.parse(await readFile(path.join(packageRoot, 'package.json'), 'utf8'));
    const named = [...readme.matchAll(/\bnpm (?:run (?:-s )?)?([a-z]+)/g)].map(([, name]) => name);
    expect(named).to.include.members(['start', 'test', 'demo']);
    for (const name of new Set(named)) expect([...Object.keys(scripts), 'ci', 'install', 'pack']).to.include(name);
  });
});

function expectTable(name: string, table: string): void {
  if (process.env.UPDATE_DOCS === '1') writeReadmeTable(name, table);
  expect(
    readReadmeTable(name),
    `README's table "${name}" should read (UPDATE_DOCS=1 npm test writes it):\n${table}\n`,
  ).to.equal(table);
}
