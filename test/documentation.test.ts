/** The documentation: tables equal the code, links lead somewhere, pages stay short. */

import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { createGateway, createLogger, type Gateway, type Plugin, readPluginConfig, systemClock } from 'mediagate';
import * as pluginEntry from 'mediagate/plugin';
import { AuthorSchema, MediaEntrySchema, PostDataSchema } from '../core/contracts/index.js';
import { WRAPPERS } from '../core/extraction/links/index.js';
import {
  DEFINITIVE_CODES,
  type DefinitiveCode,
  failureMessage,
  TRANSIENT_CODES,
  type TransientCode,
} from '../core/runtime/index.js';
import {
  audioProviderChecks,
  extractorChecks,
  imageProviderChecks,
  pluginChecks,
  textProviderChecks,
} from '../core/testing/index.js';
import { endpointsOf, Identity } from '../server/accounts/index.js';
import { createAccountContext, createRoutes, createServerContext } from '../server/app.js';
import { Batches } from '../server/batches/index.js';
import { createSiteAddress, type Route } from '../server/http/index.js';
import { IdempotencyService } from '../server/idempotency/index.js';
import { createPepper, KeyTable, type Pepper } from '../server/keys/index.js';
import { createMetrics, Health } from '../server/observability/index.js';
import { PaymentService } from '../server/payments/index.js';
import { DEFAULT_CATALOGUE } from '../server/plans/index.js';
import { PLUGIN_SETTING_DESCRIPTIONS } from '../server/settings/index.js';
import { openState, type State } from '../server/state.js';
import { ServiceStatus } from '../server/status/index.js';
import { UsageService } from '../server/usage/index.js';
import {
  anchorsOf,
  documentPages,
  expectTable,
  readPage,
  renderTable,
  sectionOf,
  withoutCode,
} from './support/docs/documents.js';
import { packageRoot } from './support/package-root.js';

/** Who may call a route, in words. */
function grantInWords({ grant, format }: Route): string {
  if (grant === 'signature') return 'a signature';
  if (grant === 'none' || grant === 'session' || grant === 'any') return grant;
  if (grant === 'admin') return format === 'page' ? "an operator's session" : "`admin`, or an operator's session";
  return [grant]
    .flat()
    .map((one) => `\`${one}\``)
    .join(' or ');
}

/** Whatever programs ask; the rest is for browsers, banks and those who measure. */
const API_ROUTE = / \/(health|v1(?!\/admin)|mcp|api\/(agent|user|payment\/gateway))\b/;

const CONFIG = path.join(packageRoot, 'plugins.config.json');

describe('the tables of the pages equal the code', () => {
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
    keys = await KeyTable.open({ keys: state.keys, peppers: [pepper], clock: systemClock, logger });
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
        const folderLink = `[\`${plugin.name}\`](../../plugins/${plugin.name})`;
        return [folderLink, plugin.provides.join(', '), plugin.summary, options.join(' ') || 'none'];
      }),
    );
    expectTable('plugins', renderTable(['plugin', 'provides', 'what it does', 'options'], rows));
  });

  it('platforms: methods of the extractors', () => {
    const rows = gateway
      .platforms()
      .map(({ key, name, methods }) => [`\`${key}\``, name, methods.map((method) => `\`${method.name}\``).join(' ')]);
    expectTable('platforms', renderTable(['platform', 'is', 'methods, best first'], rows));
  });

  it('link-forms: those of the extractors', () => {
    const rows = gateway
      .platforms()
      .flatMap(({ key, name, linkForms }) => linkForms.map((form) => [`\`${form}\``, name, `\`${key}\``]));
    expectTable('link-forms', renderTable(['form', 'is of', 'platform'], rows));
  });

  it('link-wrappers: addresses from which the gateway unwraps a link', () => {
    const code = (texts: readonly string[]) => texts.map((text) => `\`${text}\``).join(' ');
    const rows = WRAPPERS.map(({ kind, hosts, paths, parameters }) => [
      kind,
      hosts.length > 20 ? `${code(hosts.slice(0, 2))} and ${hosts.length - 2} of other countries` : code(hosts),
      code(paths.map((path) => `/${path}${path.endsWith('/') ? '*' : ''}`)),
      code(parameters),
    ]);
    expectTable('link-wrappers', renderTable(['kind', 'hosts', 'paths', 'parameter'], rows));
  });

  async function declaredRoutes(): Promise<Route[]> {
    const health = new Health({ gateway, wants: [], clock: systemClock, checks: {} });
    const logger = createLogger({ level: 'silent' });
    const { rateLimits, budgets, admissions, usage: usageLog, requestLog } = state;
    const links = { baseUrl: () => 'http://127.0.0.1:8787', anyImageSize: true };
    const clock = systemClock;
    const usage = new UsageService({ admissions, clock });
    const metrics = await createMetrics({ clock });
    const site = createSiteAddress(links.baseUrl);
    const identity = new Identity({ gateway, settings: { host: '127.0.0.1' }, site });
    const plans = { catalogue: DEFAULT_CATALOGUE, freeTierPeriod: 'lifetime' } as const;
    const payments = new PaymentService({ orders: state.orders, ...plans });
    const { incidents, probes, statusHistory: history } = state;
    const canSignIn = () => true;
    const status = new ServiceStatus({
      gateway,
      health,
      incidents,
      probes,
      history,
      clock,
      acceptsOrders: true,
      canSignIn,
    });
    const account = { state, site, identity, ...plans, payments, paymentSecrets: {}, pepper, status };
    const changedModels = { all: [], refresh: async () => undefined, seal: () => '' };
    const admin = { state, ...plans, pepper, changedModels, settings: () => [] };
    const all = { ...links, metrics, publicMetrics: true, messagesEnabled: true, account, admin };
    const { idempotentResponses, files } = state;
    const answers = new IdempotencyService({
      answers: idempotentResponses,
      files,
      clock,
      logger,
      drain: health.drain,
    });
    const counting = { rateLimits, usage, answers, budgets, usageLog, requestLog, responses: state.storedResponses };
    const batches = new Batches({ jobs: state.jobs, links: state.batchLinks, gateway, maxActive: 1 });
    const server = createServerContext({
      gateway,
      batches,
      jobs: state.jobs,
      ...counting,
      keys,
      health,
      logger,
      clock,
      ...all,
    });
    const routes = createRoutes(server, createAccountContext(server));
    health.close();
    return routes;
  }

  it('routes: the declared ones, each once', async () => {
    const routes = await declaredRoutes();
    const names = routes.map(({ method, path: address }) => `${method} ${address}`);
    expect(new Set(names).size).to.equal(names.length);
    const rows = routes.map((route, index) => [`\`${names[index]}\``, grantInWords(route), route.description]);
    expectTable('routes', renderTable(['route', 'grant', 'what it does'], rows));
  });

  it('manifest: exactly the addresses of the API', async () => {
    const pages = ['GET /signin', 'GET /device'];
    const routes = await declaredRoutes();
    for (const { method, path: address, endpoint } of routes) {
      const name = `${method} ${address}`;
      expect(endpoint !== undefined, name).to.equal(pages.includes(name) || API_ROUTE.test(name));
    }
    const named = endpointsOf(routes).flatMap(({ methods, path: address }) =>
      methods.map((method) => `${method} ${address.replace(/\{\w+\}/g, ':')}`),
    );
    const listed = routes.filter(({ endpoint }) => endpoint !== undefined);
    expect(named).to.have.members(
      listed.map(({ method, path: address }) => `${method} ${address.replace(/:\w+/g, ':')}`),
    );
  });

  it('metrics: those of a process, with their help', async () => {
    const text = await (await createMetrics({ clock: systemClock })).render();
    const kinds = new Map(
      Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name = '', kind = '']) => [name, kind]),
    );
    const rows = Array.from(text.matchAll(/^# HELP (mediagate_\S+) (.+)$/gm), ([, name = '', help = '']) => [
      `\`${name}\``,
      kinds.get(name) ?? '',
      help,
    ]);
    expectTable('metrics', renderTable(['metric', 'type', 'meaning'], rows));
  });

  it('settings of real models: those that plugins.config.json reads', () => {
    const rows = PLUGIN_SETTING_DESCRIPTIONS.map((one) => [`\`${one.name}\``, one.default, one.description]);
    expectTable('plugin-settings', renderTable(['variable', 'default', 'what it does'], rows));
  });

  it('install scripts: no production package has one, as embedding.md says, and a checkout runs none', async () => {
    const lock: { packages: Record<string, { hasInstallScript?: boolean; dev?: boolean }> } = JSON.parse(
      await readFile(path.join(packageRoot, 'package-lock.json'), 'utf8'),
    );
    const withScript = Object.entries(lock.packages).filter(
      ([, { hasInstallScript, dev }]) => hasInstallScript && !dev,
    );
    expect(withScript.map(([place]) => place)).to.deep.equal([]);
    expect(await readFile(path.join(packageRoot, '.npmrc'), 'utf8')).to.match(/^ignore-scripts=true$/m);
  });

  it('commands: the scripts that the pages mention exist', async () => {
    const { scripts } = JSON.parse(await readFile(path.join(packageRoot, 'package.json'), 'utf8'));
    const commands = documentPages().flatMap((page) => [
      ...readPage(page).matchAll(/(?:^|`|&& |; )npm (?:run (?:-s )?)?([a-z]+)/gm),
    ]);
    const named = commands.map(([, name]) => name);
    expect(named).to.include.members(['start', 'test', 'demo']);
    for (const name of new Set(named))
      expect([...Object.keys(scripts), 'ci', 'install', 'pack', 'publish']).to.include(name);
  });

  it('header fields: the gateway sends or reads those that the pages name', async () => {
    const ofGateway = /\bx-mediagate-[a-z-]+[a-z]/gi;
    const found = documentPages().flatMap((page) => [...readPage(page).matchAll(ofGateway)]);
    const named = new Set(found.map(([name]) => name.toLowerCase()));
    const files = globSync('dist/{core,server,plugins}/**/*.js', { cwd: packageRoot });
    const sources = await Promise.all(files.map((file) => readFile(path.join(packageRoot, file), 'utf8')));
    const known = new Set(sources.flatMap((text) => [...text.matchAll(ofGateway)].map(([name]) => name.toLowerCase())));
    expect([...named].filter((name) => !known.has(name))).to.deep.equal([]);
  });
});

describe('the pages', () => {
  it('have one title each, at the top', () => {
    for (const page of documentPages()) {
      const text = withoutCode(readPage(page));
      expect(text, page).to.match(/^# \S/);
      expect(text.match(/^# /gm), page).to.have.length(1);
    }
  });

  it('are short, except generated ones', () => {
    // The plugin guide contains the files of the example package.
    const isGenerated = (page: string) => page.startsWith('docs/reference/') || page === 'docs/develop/plugins.md';
    const tooLong = documentPages().filter((page) => !isGenerated(page) && Buffer.byteLength(readPage(page)) > 25_000);
    expect(tooLong).to.deep.equal([]);
    expect(Buffer.byteLength(readPage('README.md')), 'README is read in three minutes').to.be.within(8_000, 10_000);
  });

  it('are all linked from README', () => {
    const linked = linksOf('README.md').map(({ target }) => target);
    expect(linked).to.include.members(documentPages().filter((page) => page !== 'README.md'));
  });

  it('link to files and headings that exist', () => {
    const broken = documentPages().flatMap((page) =>
      linksOf(page)
        .filter(({ target, anchor }) => !isThere(target, anchor))
        .map(({ target, anchor }) => `${page}: ${target}#${anchor}`),
    );
    expect(broken).to.deep.equal([]);
  });
});

interface DocumentLink {
  /** A path in the project. */
  readonly target: string;
  /** Empty where the link has none. */
  readonly anchor: string;
}

/** The links of a page to files of the project, itself included. */
function linksOf(page: string): DocumentLink[] {
  return [...withoutCode(readPage(page)).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
    if (/^[a-z]+:/.test(link)) return [];
    const [file = '', anchor = ''] = link.split('#');
    return [{ target: file === '' ? page : path.posix.join(path.posix.dirname(page), file), anchor }];
  });
}

function isThere(target: string, anchor: string): boolean {
  if (!existsSync(path.join(packageRoot, target))) return false;
  if (anchor === '') return true;
  return anchorsOf(readPage(target)).includes(anchor);
}

/** Types that building blocks return and that readers take apart. */
const RETURNED = ['LinkedItem', 'LinkedPerson', 'LinkedImage', 'ScriptedPage', 'PageScript', 'ExtractedJson', 'Count'];

describe('the pages for authors of plugins', () => {
  it('show the files of the example package unchanged, which the package test compiles and runs', () => {
    const shown = /<!-- file: (\S+) -->\n```(\w+)\n([\s\S]*?)^```$/gm;
    const files = documentPages().flatMap((page) => {
      const text = readPage(page);
      const current = text.replace(shown, (_all, name: string, language: string) => {
        return `<!-- file: ${name} -->\n\`\`\`${language}\n${readPage(name)}\`\`\``;
      });
      if (process.env.UPDATE_DOCS === '1') writeFileSync(path.join(packageRoot, page), current);
      expect(readPage(page), `${page}: UPDATE_DOCS=1 npm test writes it`).to.equal(current);
      return Array.from(text.matchAll(shown), ([, name]) => name);
    });
    expect(files.length).to.be.greaterThan(10);
  });

  it('list the fields of each part of a document', () => {
    const { common, ids, metrics, media } = PostDataSchema.properties;
    const parts = { common, author: AuthorSchema, ids, metrics, media, entries: MediaEntrySchema };
    const names: Record<string, string> = { author: 'common.author', entries: 'media.entries' };
    const rows = Object.entries(parts).map(([part, { properties }]) => [
      `\`${names[part] ?? part}\``,
      Object.entries<object>(properties)
        .map(([name, schema]) => `\`${name}\`${name in names ? ' (below)' : ` ${kindOf(schema)}`}`)
        .join(', '),
    ]);
    expectTable('post-fields', renderTable(['part', 'fields'], rows));
  });

  it('list the building blocks, as their sources describe them', () => {
    const header = ['function', 'what it does'];
    const ofExtractors = buildingBlocks([
      'core/runtime/json.ts',
      'core/extraction/*.ts',
      'core/extraction/scraping/*.ts',
    ]);
    expect(ofExtractors.length).to.be.greaterThan(30);
    expectTable('building-blocks', renderTable(header, ofExtractors));
    const ofModels = buildingBlocks(['core/net/*.ts', 'core/upstreams/*.ts', 'core/text/json.ts']);
    expect(ofModels.length).to.be.greaterThan(10);
    expectTable('model-blocks', renderTable(header, ofModels));
  });

  it('name exactly the checks of the kit', () => {
    const kit = sectionOf('docs/develop/plugin-tests.md', '## The kit');
    const documented = [...kit.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, names = '']) =>
      [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    );
    const patterns = documented.map(
      (name) =>
        [
          name,
          new RegExp(`^${name.replace(/\b(?:SAMPLE|FAULT|SIZE|FORMAT|TEXT|OPERATION|ROUTE|N)\b/g, '.+')}$`),
        ] as const,
    );
    const names = checkNames();
    expect(names.length).to.be.greaterThan(100);
    expect(names.filter((name) => !patterns.some(([, pattern]) => pattern.test(name)))).to.deep.equal([]);
    expect(
      patterns.filter(([, pattern]) => !names.some((name) => pattern.test(name))).map(([name]) => name),
    ).to.deep.equal([]);
  });

  it('list the fields of what the building blocks return', () => {
    const sources = globSync('core/extraction/scraping/*.ts', { cwd: packageRoot })
      .sort()
      .map((file) => readFileSync(path.join(packageRoot, file), 'utf8'));
    const rows = RETURNED.map((name) => {
      const [, fields = ''] =
        new RegExp(`^export interface ${name} \\{\\n([\\s\\S]*?)^\\}$`, 'm').exec(sources.join('\n')) ?? [];
      const bare = fields.replace(/\/\*\*[\s\S]*?\*\//g, '').replaceAll('readonly ', '');
      expect(bare, name).to.include(':');
      return [`\`${name}\``, `\`${bare.replace(/\s+/g, ' ').trim().replace(/;$/, '')}\``];
    });
    expectTable('returned-types', renderTable(['type', 'fields'], rows));
  });

  it('name every state and failure of an extractor', () => {
    const rowsOf = (codes: readonly (DefinitiveCode | TransientCode)[]) =>
      codes.map((code) => [`\`${code}\``, failureMessage(code)]);
    expectTable('definitive-codes', renderTable(['code', 'meaning'], rowsOf(DEFINITIVE_CODES)));
    expectTable('transient-codes', renderTable(['code', 'meaning'], rowsOf(TRANSIENT_CODES)));
  });
});

/** The documented functions of some files that a plugin may import: signature and first sentence. */
function buildingBlocks(patterns: readonly string[]): string[][] {
  const exported = new Set(Object.keys(pluginEntry));
  const documented =
    /^\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport (?:async )?function (\w+)(?:<[^(]*>)?(\([\s\S]*?\): [^{]*?(?:\{ [^}]* \}[^{]*)?) \{$/gm;
  return globSync([...patterns], { cwd: packageRoot })
    .sort()
    .flatMap((file) => {
      const source = readFileSync(path.join(packageRoot, file), 'utf8');
      return [...source.matchAll(documented)].flatMap(([, comment = '', name = '', signature = '']) => {
        if (!exported.has(name)) return [];
        const text = comment
          .replace(/\s*\n\s*\* ?/g, ' ')
          .replace(/@throws[\s\S]*/, '')
          .replace(/\{@link (\w+)\}/g, '`$1`');
        const [sentence = ''] = /^[\s\S]*?\.(?=\s|$)/.exec(text.trim()) ?? [];
        const parameters = signature.replace(/\breadonly (?=[\s\S]*\): )/g, '').replace(/\s+/g, ' ');
        return [[`\`${name}${parameters.replace(/\( /g, '(').replace(/,? \)/g, ')')}\``, sentence]];
      });
    });
}

/** Of all contracts, with and without an upstream. No check is run. */
function checkNames(): string[] {
  const plugin = { name: 'any' } as Plugin;
  const folder = import.meta.url;
  const found = { name: 'clip', url: 'https://any.example/1', id: '1', expect: {} };
  const speech = { operation: 'speak' } as const;
  const polling = { accepted: () => ({}), pending: () => ({}), failed: {}, moderation: {} };
  const checks = [false, true].flatMap((hasUpstream) => {
    const upstreams = hasUpstream
      ? {
          image: { image: () => ({}), moderation: {}, polling },
          audio: { refusal: {} },
          text: { model: 'any', tooLong: {} },
        }
      : {};
    return [
      ...imageProviderChecks({ plugin, upstream: upstreams.image, takesReferences: hasUpstream }),
      ...audioProviderChecks({ plugin, upstream: upstreams.audio, samples: [speech] }),
      ...textProviderChecks({ plugin, upstream: upstreams.text }),
    ];
  });
  return [
    ...pluginChecks({ plugin, folder }),
    ...extractorChecks({ plugin, folder, links: {}, foreign: [], samples: [found] }),
    ...checks,
  ].map(({ name }) => name);
}

interface FieldSchema {
  type?: string;
  pattern?: string;
  items?: FieldSchema;
  properties?: object;
  anyOf?: readonly { const: unknown }[];
}

/** What a field holds, in a word or two. */
function kindOf({ type, pattern = '', items, properties, anyOf }: FieldSchema): string {
  if (anyOf) return `(${anyOf.map((one) => one.const).join(', ')})`;
  if (type === 'array')
    return `list of ${items?.properties ? `{ ${Object.keys(items.properties).join(', ')} }` : kindOf(items ?? {})}`;
  if (type === 'object') return properties ? `{ ${Object.keys(properties).join(', ')} }` : 'by name';
  if (type === 'string') return pattern.startsWith('^https') ? 'URL' : pattern === '' ? 'text' : 'time';
  return type === 'integer' ? 'count' : type === 'boolean' ? 'true or false' : (type ?? '');
}
