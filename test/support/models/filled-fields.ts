/** Which fields of a schema a document fills. */

import { readdirSync } from 'node:fs';
import path from 'node:path';
import { type Extractor, matchedLink, type Plugin } from 'mediagate/plugin';
import { createReplay, type Exchange, extractorOf, readFixture, setUpPlugin } from 'mediagate/testing';
import { packageRoot } from '../package-root.js';

const NOW = '2026-06-15T12:00:00Z';

/** Links of one fixture that are tried at most. */
const MAX_LINKS = 4;

/**
 * The fields that the recorded replies of a platform's tests fill, as dotted paths, e.g. `media.entries[].url`. The
 * links of a fixture are those that its requests and replies name.
 */
export async function filledFields(plugin: Plugin): Promise<Set<string>> {
  const fixtures = path.join(packageRoot, 'plugins', plugin.name, 'fixtures');
  const filled = new Set<string>();
  for (const name of readdirSync(fixtures).sort()) {
    const exchanges = readFixture(path.join(fixtures, name));
    for (const data of await replay(plugin, exchanges)) collect(data, '', filled);
  }
  return filled;
}

/** The documents of a fixture; none where it shows a refusal. */
async function replay(plugin: Plugin, exchanges: readonly Exchange[]): Promise<object[]> {
  const found: object[] = [];
  const tried = new Set<string>();
  let setup = await setUpPlugin({ plugin, http: createReplay(exchanges), now: NOW });
  for (const url of linksOf(exchanges)) {
    const extractor: Extractor = extractorOf(setup);
    const link = matchedLink(extractor.match(url));
    if (!link || link.kind === 'short_link' || tried.has(link.id) || tried.size === MAX_LINKS) continue;
    tried.add(link.id);
    const { signal } = new AbortController();
    const extraction = extractor.extract({ link, options: defaultsOf(extractor), signal });
    await extraction.then(
      ({ data }) => found.push(data),
      () => undefined,
    );
    // Another link starts without the cool-downs of this one.
    await setup.dispose();
    setup = await setUpPlugin({ plugin, http: createReplay(exchanges), now: NOW });
  }
  await setup.dispose();
  return found;
}

function linksOf(exchanges: readonly Exchange[]): URL[] {
  const texts = exchanges.flatMap(({ body }) => [
    ...body
      .toString('utf8')
      .replaceAll('\\/', '/')
      .matchAll(/https:\/\/[\w./?=@-]+/g),
  ]);
  const named = new Set(texts.map(([text]) => text));
  return [...exchanges.map(({ url }) => url), ...[...named].flatMap((text) => URL.parse(text) ?? [])];
}

function defaultsOf({ requestOptions }: Extractor): Record<string, unknown> {
  const options = Object.entries<{ default?: unknown }>(requestOptions?.properties ?? {});
  return Object.fromEntries(options.map(([name, schema]) => [name, schema.default]));
}

function collect(value: unknown, at: string, filled: Set<string>): void {
  if (Array.isArray(value)) {
    for (const one of value) collect(one, `${at}[]`, filled);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    const place = at === '' ? name : `${at}.${name}`;
    filled.add(place);
    collect(field, place, filled);
  }
}
