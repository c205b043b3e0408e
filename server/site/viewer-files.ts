import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

const PACKAGE = 'swagger-ui-dist';
/** Half a second for 1.7 MB; the highest would take three, for a tenth less. */
const QUALITY = 6;

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
};

export interface ViewerFile {
  contentType: string;
  bytes: Buffer;
  /** The same by brotli. */
  compressed: Buffer;
}

/** Files of the viewer of the API reference, read when somebody first looks at it. */
export interface ViewerFiles {
  /** Of the package. */
  readonly version: string;
  /** Undefined where there is none of that name. */
  find(name: string): Promise<ViewerFile> | undefined;
}

export function createViewerFiles(): ViewerFiles {
  const { resolve } = createRequire(import.meta.url);
  const { version } = JSON.parse(readFileSync(resolve(`${PACKAGE}/package.json`), 'utf8')) as { version: string };
  const found = new Map<string, Promise<ViewerFile>>();

  async function load(name: string, contentType: string): Promise<ViewerFile> {
    const bytes = await readFile(resolve(`${PACKAGE}/${name}`));
    const compressed = await promisify(brotliCompress)(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: QUALITY },
    });
    return { contentType, bytes, compressed };
  }

  return {
    version,
    find(name) {
      const contentType = Object.hasOwn(CONTENT_TYPES, name) ? CONTENT_TYPES[name] : undefined;
      if (contentType === undefined) return undefined;
      const file = found.get(name) ?? load(name, contentType);
      found.set(name, file);
      return file;
    },
  };
}
