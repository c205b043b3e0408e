/** The structure of the source: layers, imports, cycles, packages and file sizes. */

import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { importsOf } from './support/docs/import-statements.js';
import { packageRoot } from './support/package-root.js';

/** Packages of the web server and the command line: the core must run without them. */
const SERVER_PACKAGES = [
  'koa',
  '@koa/router',
  'commander',
  'cookie',
  'csv-parse',
  'nanospinner',
  'fresh',
  'prom-client',
  '@fastify/busboy',
  'proxy-addr',
  'tar-stream',
  'oidc-provider',
  'openid-client',
  'qrcode',
  '@opentelemetry/api',
  '@opentelemetry/otlp-transformer',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
  'marked',
  '@speed-highlight/core',
  '@modelcontextprotocol/server',
  '@simplewebauthn/server',
  'nodemailer',
];

/** What only one file, or one folder, may import, so that it can be replaced there and is loaded only where it is used. */
const PLACES: Readonly<Record<string, string | readonly string[]>> = {
  kysely: 'core/database/kysely.ts',
  typebox: 'core/contracts/typebox.ts',
  'better-sqlite3': ['core/database/database-sqlite.ts', 'core/database/sqlite-copy.ts'],
  pg: 'core/database/database-postgres.ts',
  keyv: 'core/storage/cache.ts',
  '@keyv/redis': 'core/storage/cache.ts',
  s3mini: 'core/storage/object-client.ts',
  cheerio: 'core/extraction/scraping/meta-tags.ts',
  // The stand-in draws pictures, and the kit looks at them; neither needs what the core does to images.
  sharp: ['core/media/image-file.ts', 'core/testing/models/image-run.ts', 'plugins/sketch_image/pixels.ts'],
  'onnxruntime-web': 'plugins/offline_speech/onnx.ts',
  'llama-tokenizer-js': 'plugins/offline_speech/onnx.ts',
  'gpt-tokenizer': 'core/text/counting/token-thread.ts',
  'fluent-ffmpeg': 'core/media/fluent-ffmpeg.ts',
  'playwright-core': 'core/browser/browser-connection.ts',
  cookie: 'server/http/pages.ts',
  'proxy-addr': 'server/http/addresses.ts',
  'csv-parse': 'server/payments/bank-statement.ts',
  'tar-stream': 'server/settings/executables.ts',
  fresh: 'server/http/file-response.ts',
  // Each part of the figures has its own; prom-client itself is loaded by the first of them.
  'prom-client': 'server/observability/metrics',
  '@fastify/busboy': 'server/http/bodies/form.ts',
  qrcode: 'server/payments/transfer-qr.ts',
  '@modelcontextprotocol/server': 'server/mcp/',
  'openid-client': ['server/accounts/sign-in/oidc', 'server/accounts/sign-in/oidc.ts'],
  'oidc-provider': ['plugins/dev_identity/', 'server/identity/provider.ts'],
  '@simplewebauthn/server': 'server/passkeys/webauthn.ts',
  nodemailer: 'server/alerts/smtp.ts',
  '@opentelemetry/api': 'server/observability/opentelemetry.ts',
  '@opentelemetry/otlp-transformer': 'server/observability/opentelemetry.ts',
  '@opentelemetry/resources': 'server/observability/opentelemetry.ts',
  '@opentelemetry/sdk-trace': 'server/observability/opentelemetry.ts',
  // The bundles of pages have a copy of their own.
  marked: ['server/site/docs/marked.ts', 'server/site/browser/playground/markdown.ts'],
  '@speed-highlight/core': 'server/site/highlight.ts',
  ajv: 'core/runtime/validation.ts',
  pino: 'core/observability/logger.ts',
  tsyringe: 'core/plugins/tsyringe.ts',
};

/** A package that one plugin needs and nobody else of its kind. */
const PLUGIN_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'plugins/sketch_image': ['sharp'],
  'plugins/offline_speech': ['onnxruntime-web/wasm', 'llama-tokenizer-js'],
  'plugins/dev_identity': ['oidc-provider', 'lru-cache'],
};

/** Not loaded by `import 'mediagate'`. */
const LAZY_PACKAGES = [
  'koa',
  'better-sqlite3',
  'pg',
  'cheerio',
  'playwright-core',
  'sharp',
  's3mini',
  'prom-client',
  'openid-client',
  'oidc-provider',
  'qrcode',
];

/** Packages that the build bundles into the file that has them; those after the first four are loaded where they are used. */
const BUNDLED_PACKAGES = [
  'kysely',
  'typebox',
  'tsyringe',
  '@speed-highlight/core',
  'fluent-ffmpeg',
  'gpt-tokenizer',
  'onnxruntime-web',
  '@opentelemetry/api',
  'marked',
  '@simplewebauthn/server',
  'nodemailer',
];

/** Not loaded by `import 'mediagate/server'`: most processes need none of them. */
const SERVER_LAZY_PACKAGES = [
  '@modelcontextprotocol/server',
  'better-sqlite3',
  'pg',
  'csv-parse',
  'oidc-provider',
  'openid-client',
  'prom-client',
  'qrcode',
  'tar-stream',
];

/** All that `import 'mediagate/plugin'` loads, in alphabetical order. */
const PLUGIN_ENTRY_PACKAGES = ['ipaddr.js'];
const PLUGIN_ENTRY_FOLDERS = [
  'core/contracts',
  'core/extraction',
  'core/media',
  'core/net',
  'core/observability',
  'core/plugins',
  'core/runtime',
  'core/text',
  'core/upstreams',
];

interface Layer {
  name: string;
  holds: RegExp;
  /** Judges one import: a package name (sub-path and `node:` included), or a path from the package root. */
  allows(target: string, file: string): boolean;
}

const LAYERS: readonly Layer[] = [
  {
    name: 'core/contracts imports each other, the runtime and the schema builder',
    holds: /^core\/contracts\//,
    allows: (target) => /^core\/(contracts\/|runtime\/index\.ts$)/.test(target) || /^(typebox|ajv)(\/|$)/.test(target),
  },
  {
    name: 'core imports itself and packages, never the server, a plugin or a package of the server',
    holds: /^core\/(?!contracts\/)/,
    allows: (target) =>
      !/^(server|plugins|test|bench)\//.test(target) &&
      !/^mediagate(\/|$)/.test(target) &&
      !SERVER_PACKAGES.includes(packageOf(target)),
  },
  {
    name: 'a plugin imports node:, mediagate/plugin, its own folder and the packages that are its own',
    holds: /^plugins\/[^/]+\/(?!test\/)/,
    allows: (target, file) =>
      /^node:/.test(target) ||
      target === 'mediagate/plugin' ||
      isWithin(pluginOf(file), target) ||
      (PLUGIN_PACKAGES[pluginOf(file)] ?? []).includes(target),
  },
  {
    name: "a plugin's tests may import the testing kit and chai as well",
    holds: /^plugins\/[^/]+\/test\//,
    allows: (target, file) =>
      /^(node:|mediagate\/(plugin|testing)$|chai$|fast-check$)/.test(target) || isWithin(pluginOf(file), target),
  },
  {
    name: 'scripts of pages import each other, the type of their texts, the writer of examples, colours of code, days as text, and a parser',
    holds: /^server\/site\/browser\//,
    allows: (target) =>
      /^server\/site\/(browser\/|language\/(script-texts|typed-day)\.ts$|docs\/examples\.ts$|highlight\.ts$)/.test(
        target,
      ) || target === 'marked',
  },
  {
    name: 'the server imports node:, mediagate, folders of core, its own packages and itself, never a plugin',
    holds: /^server\//,
    allows: (target) =>
      /^(node:|mediagate$|server\/|core\/[a-z/]+\/index\.ts$)/.test(target) ||
      SERVER_PACKAGES.includes(packageOf(target)),
  },
];

const sources = ['core', 'plugins', 'server', 'test'].flatMap((folder) => listFiles(folder));
const modules = sources.filter((file) => /^(core|plugins|server)\//.test(file) && file.endsWith('.ts'));
const imports = new Map(modules.map((file) => [file, importsOfFile(file)]));

describe('architecture', () => {
  it('has modules in every layer', () => {
    for (const { holds, name } of LAYERS)
      expect(
        modules.some((file) => holds.test(file)),
        name,
      ).to.equal(true);
  });

  for (const { name, holds, allows } of LAYERS) {
    it(name, () => {
      const wrong = [...imports]
        .filter(([file]) => holds.test(file))
        .flatMap(([file, targets]) =>
          targets.filter((target) => !allows(target, file)).map((target) => `${file} imports ${target}`),
        );
      expect(wrong).to.deep.equal([]);
    });
  }

  it('has one file for each heavy package', () => {
    const wrong = [...imports].flatMap(([file, targets]) =>
      targets
        .map(packageOf)
        .filter((name) => !placesOf(name).some((place) => file.startsWith(place)) && !isTypeOfContract(name, file))
        .map((name) => `${file} imports ${name}, which is for ${placesOf(name).join(' and ')} alone`),
    );
    expect(wrong).to.deep.equal([]);
  });

  it('names files in kebab-case after their subject', () => {
    const wrong = sources.filter((file) => {
      const name = path.basename(file);
      return (
        !/^((\.|_)?[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)+|Dockerfile(\.dockerignore)?)$/.test(name) ||
        /^(utils?|helpers?|common|misc)\./.test(name)
      );
    });
    expect(wrong.filter((file) => path.basename(file) !== 'README.md' && !file.includes('/fixtures/'))).to.deep.equal(
      [],
    );
  });

  for (const [specifier, lazy] of [
    ['mediagate', LAZY_PACKAGES],
    ['mediagate/server', SERVER_LAZY_PACKAGES],
  ] as const) {
    it(`loads nothing heavy with import '${specifier}'`, async () => {
      const { modules: loaded, packages } = await loadedBy(specifier);
      expect(loaded.some((url) => url.endsWith('/dist/core/index.js'))).to.equal(true);
      expect(lazy.filter((name) => packages.includes(name))).to.deep.equal([]);
      const lazyBundles = BUNDLED_PACKAGES.slice(4).map(bundleOf);
      expect(lazyBundles.filter((file) => loaded.some((url) => url.endsWith(file)))).to.deep.equal([]);
    });
  }

  it("exports from 'mediagate' what programs with a gateway use, and no building blocks of plugins", async () => {
    expect(Object.keys(await import('mediagate'))).to.have.members([
      'createGateway',
      'createLogger',
      'definePlugin',
      'ERROR_CODES',
      'GatewayError',
      'isGatewayError',
      'openHttpClient',
      'PluginConfigError',
      'readPluginConfig',
      'systemClock',
    ]);
  });

  it("loads these packages alone with import 'mediagate/plugin', and nothing of the gateway", async () => {
    const { modules: loaded, packages } = await loadedBy('mediagate/plugin');
    expect(packages).to.deep.equal(PLUGIN_ENTRY_PACKAGES);
    const folders = new Set(
      loaded.flatMap((url) => /\/dist\/((?:core|server|plugins)\/[a-z]+)\//.exec(url)?.[1] ?? []),
    );
    expect([...folders].sort()).to.deep.equal(PLUGIN_ENTRY_FOLDERS);
  });

  // A command that lists something took two thirds of its time to load the hundreds of files of the first, and an installation has
  // none of the last.
  for (const name of BUNDLED_PACKAGES) {
    it(`builds everything of ${name} into ${bundleOf(name)}`, () => {
      const file = path.join(packageRoot, bundleOf(name));
      // A message may say where a value comes "from".
      const isThere = (target: string) =>
        target.startsWith('.') || existsSync(path.join(packageRoot, 'node_modules', target));
      const left = importsOf(readFileSync(file, 'utf8')).filter((target) => !isBuiltin(target) && isThere(target));
      expect(left).to.deep.equal([]);
    });
  }

  // `import … from 'node:http'` reads all that it offers, among it a WebSocket that comes with the whole of Node's own fetch:
  // 14 MB and a twentieth of the start. `process.getBuiltinModule('node:http')` takes what is named alone.
  it("does not load Node's own fetch with the server", async () => {
    const script = `
      await import('mediagate/server');
      console.log(JSON.stringify(process.moduleLoadList.filter((name) => /deps.undici/.test(name))));
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      cwd: packageRoot,
    });
    expect(JSON.parse(stdout)).to.deep.equal([]);
  });
});

function bundleOf(name: string): string {
  return `/dist/${placesOf(name)[0]}`.replace(/\.ts$/, '.js');
}

/** Of the HTTP client it loads what recording needs, and nothing of it without. */
const LOADS_LATER = 'core/testing/recording.ts';

/** Folders of core; each may import those before it. */
const CORE_ORDER = [
  'runtime',
  'contracts',
  'observability',
  'database',
  'storage',
  'net',
  'upstreams',
  'browser',
  'media',
  'plugins',
  'jobs',
  'extraction',
  'images',
  'audio',
  'documents',
  'text',
  'gateway',
  'testing',
];

/** Words of customers, which no identifier in core has. */
const CUSTOMER_WORDS = /^(accounts?|plans?|budgets?|orders?|payments?|invoices?|sessions?|apikeys?)$/;

/** Identifiers with such a word that mean something else. */
const OTHER_MEANINGS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    // One after the other; of SQL and of bytes.
    orderBy: ['core/'],
    order: ['core/database/', 'core/jobs/'],
    inOrder: ['core/audio/'],
    outOfOrder: ['core/testing/'],
    BYTE_ORDER_MARK: ['core/text/'],
    // Column of the owner; it gets that name with the baseline migration.
    account_id: ['core/jobs/'],
    // The browser protocol's, and names of header fields and cookies that hold secrets.
    newBrowserCDPSession: ['core/browser/'],
    // The debugger's.
    Session: ['core/testing/'],
    session: ['core/browser/', 'core/net/', 'core/testing/'],
    apikey: ['core/net/'],
    // An upstream's option, and the gateway's own account there.
    apiKey: ['core/upstreams/'],
    accountFailure: ['core/upstreams/'],
    // Of time, and of retries.
    BUDGET_MS: ['core/extraction/'],
    budgetMs: ['core/extraction/', 'core/upstreams/'],
    RetryBudget: ['core/upstreams/'],
  }),
);

/** How code bypasses Koa and Node's responses. */
const BYPASS = /\.respond = false|\bhandleRequest\b|\bsetPrototypeOf\b|\.chunkedEncoding\b|extends ServerResponse\b/;

describe('the structure of core and server', () => {
  it('bypasses Koa in one file', () => {
    const files = modules.filter((file) => file.startsWith('server/') && BYPASS.test(sourceOf(file)));
    expect(files).to.deep.equal(['server/http/fast-path.ts']);
  });

  it('has no customer words in the identifiers of core', () => {
    const wrong = modules
      .filter((file) => file.startsWith('core/'))
      .flatMap((file) =>
        [...new Set(identifiersOf(file))]
          .filter((name) => !OTHER_MEANINGS.get(name)?.some((place) => file.startsWith(place)))
          .filter((name) => wordsOf(name).some((word) => CUSTOMER_WORDS.test(word)) || /api_?key/i.test(name))
          .map((name) => `${file}: ${name}`),
      );
    expect(wrong).to.deep.equal([]);
  });

  it('imports other folders only through their index.ts, and its own files directly', () => {
    const wrong = [...imports]
      // Files beside the folders compose them, and may load one of their parts later than others.
      .filter(([file]) => placeOf(file) !== undefined && file !== LOADS_LATER)
      .flatMap(([file, targets]) =>
        targets
          .filter((target) => {
            const place = placeOf(target);
            return place !== undefined && (place === placeOf(file)) === (target === `${place}/index.ts`);
          })
          .map((target) => `${file} imports ${target}`),
      );
    expect(wrong).to.deep.equal([]);
  });

  it('has no cycles of folders, types included', () => {
    const edges = new Map<string, Set<string>>();
    for (const file of modules.filter((name) => /^(core|server)\//.test(name))) {
      const from = placeOf(file) ?? file;
      const of = edges.get(from) ?? new Set();
      edges.set(from, of);
      for (const target of staticImportsOf(file)) {
        const to = placeOf(target) ?? target;
        if (to !== from && /^(core|server)\//.test(to)) of.add(to);
      }
    }
    expect(cyclesOf(edges)).to.deep.equal([]);
  });

  it('has no cycle of values, and none of types over more than two files', () => {
    const files = modules.filter((file) => !/\/(test|fixtures)\//.test(file));
    const edges = (targetsOf: (file: string) => string[]) =>
      new Map(files.map((file) => [file, new Set(targetsOf(file).filter((target) => files.includes(target)))]));
    expect(circlesOf(edges(valueImportsOf))).to.deep.equal([]);
    expect(circlesOf(edges(staticImportsOf)).filter((circle) => circle.length > 2)).to.deep.equal([]);
  });

  it('adds by declaration merging only tables, error codes, kinds of jobs, and the state of requests', () => {
    const merged = new Set(
      modules
        .filter((name) => /^(core|server)\//.test(name))
        .flatMap((file) =>
          Array.from(sourceOf(file).matchAll(/^declare module '([^']+)'/gm), ([, name = '']) =>
            path.posix.join(path.posix.dirname(file), name),
          ),
        ),
    );
    expect([...merged]).to.have.members([
      'core/database/tables.js',
      'core/runtime/errors.js',
      'core/jobs/kinds.js',
      'server/http/koa-app.js',
    ]);
  });

  it('imports in core only folders that come earlier, types included', () => {
    const wrong = [...imports].flatMap(([file, targets]) =>
      targets
        .filter((target) => {
          const [from, to] = [file, target].map((name) => CORE_ORDER.indexOf(placeInOrder(name))) as [number, number];
          return to > from && from >= 0;
        })
        .map((target) => `${file} imports ${target}`),
    );
    expect(wrong).to.deep.equal([]);
  });
});

/** Folder of core or server that a module belongs to; undefined for those beside the folders, and of other parts. */
function placeOf(file: string): string | undefined {
  return /^((?:core|server)\/[a-z]+)\//.exec(file)?.[1];
}

function placeInOrder(file: string): string {
  return (placeOf(file) ?? (/^core\/gateway[a-z-]*\.ts$/.test(file) ? 'core/gateway' : '')).replace(/^core\//, '');
}

/** What it imports, types included, from the package root; not what it loads later, when a command needs it. */
function staticImportsOf(file: string): string[] {
  const text = readFileSync(path.join(packageRoot, file), 'utf8');
  const statements = text.matchAll(/^(?:import|export)\s+(?:[^;'"]*?\sfrom\s+)?'(\.[^']+)';/gm);
  return Array.from(statements, ([, specifier = '']) =>
    path.posix.join(path.posix.dirname(file), specifier).replace(/\.js$/, '.ts'),
  );
}

/** What it imports at run time: statements with at least one name that is no type. */
function valueImportsOf(file: string): string[] {
  const statements = sourceOf(file).matchAll(/^(?:import|export)\s+(?:([^;'"]*?)\sfrom\s+)?'(\.[^']+)';/gm);
  return Array.from(statements).flatMap(([, names = '', specifier = '']) => {
    const listed = /\{([\s\S]*)\}/
      .exec(names)?.[1]
      ?.split(',')
      .filter((name) => name.trim() !== '');
    const isOfTypes = /^type\s/.test(names) || (listed?.every((name) => /^\s*type\s/.test(name)) ?? false);
    return isOfTypes ? [] : [path.posix.join(path.posix.dirname(file), specifier).replace(/\.js$/, '.ts')];
  });
}

/** Files that import each other, directly or over others: strongly connected components of more than one file. */
function circlesOf(edges: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const reached = new Map(Array.from(edges.keys(), (file) => [file, reachedFrom(file, edges)]));
  const circles = Array.from(edges.keys(), (file) =>
    [...edges.keys()].filter((other) => reached.get(file)?.has(other) && reached.get(other)?.has(file)),
  );
  const distinct = new Map(circles.filter((circle) => circle.length > 1).map((circle) => [circle.join(' '), circle]));
  return [...distinct.values()];
}

function reachedFrom(file: string, edges: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const reached = new Set<string>();
  const waiting = [...(edges.get(file) ?? [])];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    waiting.push(...(edges.get(next) ?? []));
  }
  return reached;
}

function sourceOf(file: string): string {
  return readFileSync(path.join(packageRoot, file), 'utf8');
}

function identifiersOf(file: string): string[] {
  const code = sourceOf(file)
    .replace(/\/\*[\s\S]*?\*\//g, ' ')
    .replace(/(?<!:)\/\/.*$/gm, ' ')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''");
  return code.match(/[A-Za-z_$][\w$]*/g) ?? [];
}

/** `maxAccountId` → max, account, id. */
function wordsOf(name: string): string[] {
  return name.split(/_|(?<=[a-z0-9])(?=[A-Z])/).map((word) => word.toLowerCase());
}

/** Each cycle by the places that it leads through. */
function cyclesOf(edges: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (place: string, way: readonly string[]): void => {
    const at = way.indexOf(place);
    if (at >= 0) cycles.push([...way.slice(at), place].join(' → '));
    if (at >= 0 || done.has(place)) return;
    for (const next of edges.get(place) ?? []) visit(next, [...way, place]);
    done.add(place);
  };
  for (const place of edges.keys()) visit(place, []);
  return cycles;
}

function listFiles(folder: string): string[] {
  return readdirSync(path.join(packageRoot, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = `${folder}/${entry.name}`;
    return entry.isDirectory() ? listFiles(file) : [file];
  });
}

/** Relative imports become paths from the package root, of the source rather than of what it compiles to. */
function importsOfFile(file: string): string[] {
  return importsOf(readFileSync(path.join(packageRoot, file), 'utf8')).map((specifier) =>
    specifier.startsWith('.')
      ? path.posix.join(path.posix.dirname(file), specifier).replace(/\.js$/, '.ts')
      : specifier,
  );
}

/** Modules and names of packages that an import of the package loads. */
async function loadedBy(specifier: string): Promise<{ modules: string[]; packages: string[] }> {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ resolve(specifier, context, next) { const found = next(specifier, context); loaded.push(found.url); return found; } });
    await import('${specifier}');
    console.log(JSON.stringify(loaded));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: packageRoot,
  });
  const loaded: string[] = JSON.parse(stdout);
  const names = loaded.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  return { modules: loaded, packages: [...new Set(names)].sort() };
}

/** `@scope/name/deep` → `@scope/name`; a path stays a path. */
function packageOf(target: string): string {
  return /^(core|plugins|server|test|bench)\//.test(target)
    ? target
    : target.split('/', target.startsWith('@') ? 2 : 1).join('/');
}

function placesOf(name: string): readonly string[] {
  const places = PLACES[name] ?? '';
  return typeof places === 'string' ? [places] : places;
}

function pluginOf(file: string): string {
  return file.split('/', 2).join('/');
}

function isWithin(folder: string, target: string): boolean {
  return target.startsWith(`${folder}/`);
}

/** Contracts may name the types of ajv; they import no code of it. */
function isTypeOfContract(name: string, file: string): boolean {
  return (
    (name === 'ajv' && file.startsWith('core/contracts/')) ||
    (name === 'typebox' && file === 'core/runtime/validation.ts')
  );
}
