import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** `exchanges.json` of a fixture folder; bodies are files beside it. */
export interface FixtureFile {
  exchanges: FixtureExchange[];
}

export interface FixtureExchange {
  request: {
    method: string;
    /** Origin and path must be equal; each query parameter listed here must exist, and others may. */
    url: string;
    /** Texts that the request body must contain. Default: none. */
    bodyIncludes?: string[];
  };
  response: {
    status: number;
    headers?: Record<string, string>;
    /** File of the body, beside exchanges.json; otherwise `text`; otherwise the body is empty. */
    file?: string;
    text?: string;
  };
}

export interface Exchange {
  /** Name in the report. */
  name: string;
  method: string;
  url: URL;
  bodyIncludes: readonly string[];
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/**
 * The source folder of a plugin, from the `import.meta.url` of a file in its `test` folder: fixtures are beside the
 * sources, and compiled tests in a folder `dist` that mirrors the package, or its `src`.
 */
export function pluginFolder(testFileUrl: string): string {
  const compiled = path.dirname(path.dirname(fileURLToPath(testFileUrl)));
  const root = packageRoot(compiled);
  const [top, ...rest] = path.relative(root, compiled).split(path.sep);
  if (top !== 'dist') return compiled;
  const mirrored = path.join(root, ...rest);
  const inSources = path.join(root, 'src', ...rest);
  return !existsSync(mirrored) && existsSync(inSources) ? inSources : mirrored;
}

function packageRoot(folder: string): string {
  if (existsSync(path.join(folder, 'package.json'))) return folder;
  const above = path.dirname(folder);
  if (above === folder) throw new Error('There is no package.json above the test file.');
  return packageRoot(above);
}

/** @throws Error that explains how to make the fixture if there is none. */
export function readFixture(folder: string): Exchange[] {
  const file = path.join(folder, 'exchanges.json');
  if (!existsSync(file)) {
    throw new Error(`There is no ${file}. RECORD=${path.basename(folder)} records it from the network.`);
  }
  const { exchanges } = JSON.parse(readFileSync(file, 'utf8')) as FixtureFile;
  return exchanges.map(({ request, response }) => ({
    name: `${request.method} ${request.url}${request.bodyIncludes ? ` ${request.bodyIncludes.join(' ')}` : ''}`,
    method: request.method,
    url: new URL(request.url),
    bodyIncludes: request.bodyIncludes ?? [],
    status: response.status,
    headers: response.headers ?? {},
    body:
      response.file === undefined
        ? Buffer.from(response.text ?? '')
        : readFileSync(path.join(folder, path.basename(response.file))),
  }));
}
