/** Links that grant access to their holders. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import {
  type Clock,
  type ExtractCall,
  type Extraction,
  type Extractor,
  GatewayError,
  type LinkRef,
  systemClock,
} from 'mediagate';
import { ffmpegPath, runFfmpeg, tone } from '../../support/audio/ffmpeg.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedExtraction } from '../../support/links/invented-plugin.js';
import { inventedProduct } from '../../support/links/invented-shop.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { type Answer, type ListeningApp, startApp } from '../http/listening-app.js';
import { type AudioOrigin, startAudioOrigin } from '../links/audio-origin.js';

const BARE = 'https://invented.example/item/7';
const OPENED = `${BARE}/s3cret-hash`;

/** What the platform does: an item is shown to those who have its hash. */
function showTo({ link }: Pick<ExtractCall, 'link'>): Extraction {
  const hash = accessIn(link);
  if (hash === undefined) throw new GatewayError('private', 'The item is private.');
  const { data, ...rest } = inventedExtraction(link.id, { audio: true });
  if ('product' in data) throw new Error('a video has no product');
  return { ...rest, data: { ...data, common: { title: `Private, by ${hash}` } } };
}

/** The link of a call as it was sent, wherever its hash is. */
function opened({ link }: Pick<ExtractCall, 'link'>): string {
  const hash = accessIn(link);
  return hash === undefined ? BARE : `${BARE}/${hash}`;
}

/** Where an extractor may have the hash. */
const FORMS = [
  ['in their canonical URL', matchWithAccess],
  ['beside their canonical URL', matchWithToken],
] as const;

const told = ({ status, json }: Answer) => [status, json.data?.common?.title ?? json.error?.code];
const REFUSED = [422, 'private'];
const SHOWN = [200, 'Private, by s3cret-hash'];

for (const [where, matchForm] of FORMS) {
  describeOnStacks(`links that grant access ${where}`, (stack) => {
    const once = onceIt(stack);
    const each = matchForm === matchWithAccess ? it : onceIt(stack);
    let app: ListeningApp;
    let key: string;
    let fetches: string[];
    let extract: Extractor['extract'];
    let resolve: Extractor['resolve'];
    let elapsed: number;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + elapsed };

    beforeEach(async () => {
      fetches = [];
      elapsed = 0;
      extract = async (call) => showTo(call);
      resolve = undefined;
      app = await startApp({
        stack,
        clock,
        extractor: {
          match: matchForm,
          extract: (call) => {
            fetches.push(opened(call));
            return extract(call);
          },
          resolve: async (call) => {
            if (!resolve) throw new GatewayError('short_link_dead', 'It leads nowhere.');
            return resolve(call);
          },
        },
      });
      key = await app.makeKey();
    });
    afterEach(() => app.close());

    each('answer from the cache only to callers who send the access link', async () => {
      expect(told(await app.extract(key, { url: OPENED }))).to.deep.equal(SHOWN);
      expect(told(await app.extract(key, { url: BARE }))).to.deep.equal(REFUSED);
      expect(told(await app.extract(key, { url: `${BARE}/other` }))).to.deep.equal([200, 'Private, by other']);
      // The refusal of the bare link is none of the others, which were cached before it.
      const again = await app.extract(key, { url: OPENED });
      expect([...told(again), again.headers.get('x-cache')]).to.deep.equal([...SHOWN, 'hit']);
      expect(told(await app.extract(key, { url: BARE }))).to.deep.equal(REFUSED);
      expect(fetches).to.deep.equal([OPENED, BARE, `${BARE}/other`]);
    });

    once('return the item although the bare link was refused a moment ago', async () => {
      expect(told(await app.extract(key, { url: BARE }))).to.deep.equal(REFUSED);
      expect(told(await app.extract(key, { url: OPENED }))).to.deep.equal(SHOWN);
    });

    once('match the cached item regardless of tracking parameters', async () => {
      const forms = [OPENED, `${OPENED}?utm_source=mail`, `${OPENED}#part`, `${OPENED}?from=a&ref=b`];
      const answers = await Promise.all(forms.map((url) => app.extract(key, { url })));
      expect(answers.map((answer) => [told(answer), answer.json.input_url])).to.deep.equal(
        forms.map((form) => [SHOWN, form]),
      );
      expect(fetches).to.deep.equal([OPENED]);
    });

    each('share no extraction that is under way with the bare link', async () => {
      const released = Promise.withResolvers<void>();
      extract = async (call) => {
        await released.promise;
        return showTo(call);
      };
      const urls = [OPENED, BARE, `${OPENED}?utm_source=a`, `${BARE}?utm_source=a`, `${BARE}/other`];
      const answers = urls.map((url) => app.extract(key, { url }));
      await until(() => fetches.length >= 3);
      released.resolve();
      const other = [200, 'Private, by other'];
      expect((await Promise.all(answers)).map(told)).to.deep.equal([SHOWN, REFUSED, SHOWN, REFUSED, other]);
      expect([...fetches].sort()).to.deep.equal([BARE, `${BARE}/other`, OPENED].sort());
    });

    once('share no part of a batch with the bare link', async () => {
      const { json } = await app.batch(key, { urls: [OPENED, BARE, `${OPENED}?utm_source=a`] });
      // biome-ignore lint/suspicious/noExplicitAny: items of a batch have many shapes
      const said = json.items.map((item: any) => item.result?.data.common.title ?? item.error?.code);
      expect(said).to.deep.equal([SHOWN[1], REFUSED[1], SHOWN[1]]);
    });

    once('accept a stale answer while the source fails', async () => {
      expect(told(await app.extract(key, { url: OPENED }))).to.deep.equal(SHOWN);
      elapsed += 3_600_000;
      extract = async () => {
        throw new GatewayError('upstream_error', 'The source is out of order.');
      };
      expect(told(await app.extract(key, { url: BARE }))).to.deep.equal([502, 'upstream_error']);
      const stale = await app.extract(key, { url: OPENED });
      expect([...told(stale), stale.headers.get('x-cache')]).to.deep.equal([...SHOWN, 'stale']);
    });

    once('grant nothing to callers who send only the short link', async () => {
      resolve = async () => new URL(`${OPENED}?utm_source=short`);
      expect(told(await app.extract(key, { url: 'https://inv.example/a1' }))).to.deep.equal(SHOWN);
      expect(told(await app.extract(key, { url: BARE }))).to.deep.equal(REFUSED);
      expect(told(await app.extract(key, { url: OPENED }))).to.deep.equal(SHOWN);
      expect(fetches).to.deep.equal([OPENED, BARE]);
    });

    once('do not match a short link with the same code on another path', async () => {
      const leads: Record<string, string> = { '/p/a1': OPENED, '/v/a1': BARE, '/a1': `${BARE}/other` };
      const walks: string[] = [];
      resolve = async ({ link }) => {
        const { pathname } = new URL(link.url);
        walks.push(pathname);
        return new URL(leads[pathname] ?? BARE);
      };
      const ask = async (short: string) => told(await app.extract(key, { url: `https://inv.example${short}` }));
      for (const repeated of [1, 2]) {
        expect(await ask('/p/a1'), `round ${repeated}`).to.deep.equal(SHOWN);
        expect(await ask('/v/a1'), `round ${repeated}`).to.deep.equal(REFUSED);
        expect(await ask('/a1'), `round ${repeated}`).to.deep.equal([200, 'Private, by other']);
      }
      expect(walks).to.deep.equal(['/p/a1', '/v/a1', '/a1']);
    });
  });
}

for (const [where, matchForm] of FORMS) {
  describeOnStacks(`background jobs of links that grant access ${where}`, (stack) => {
    const each = matchForm === matchWithAccess ? it : onceIt(stack);
    let app: ListeningApp;
    let released: PromiseWithResolvers<void>;
    let fetches: string[];

    beforeEach(async () => {
      released = Promise.withResolvers<void>();
      fetches = [];
      app = await startApp({
        stack,
        shop: {
          match: (url) => {
            const link = matchForm(url);
            return link && { ...link, kind: 'product' };
          },
          async extract({ link }) {
            fetches.push(opened({ link }));
            await released.promise;
            if (accessIn(link) === undefined) throw new GatewayError('private', 'The product is private.');
            return inventedProduct(link.id, `Private, by ${accessIn(link)}`);
          },
        },
        // The shop has the links of the invented platform.
        extractor: { match: () => undefined },
      });
    });
    afterEach(() => app.close());

    each('join only equal links', async () => {
      const [one, two] = [await app.makeKey(), await app.makeKey({}, { accountId: 'other' })];
      const submit = async (key: string, url: string, more = {}) => {
        const { json } = await app.extract(key, { url, async_mode: true, ...more });
        return json.data.job.job_id as string;
      };
      const opened = await submit(one, OPENED);
      const bare = await submit(two, BARE);
      const joined = await submit(two, `${OPENED}?utm_source=a`);
      const other = await submit(two, `${BARE}/other`, { force_async: true });
      expect([joined, new Set([opened, bare, other]).size]).to.deep.equal([opened, 3]);
      // Who has the one job cannot read the other.
      expect((await app.poll(one, bare)).status).to.equal(404);
      released.resolve();
      const ended = async (key: string, id: string) => {
        const { json } = await app.ended(key, id);
        return json.data.product?.name ?? json.data.job.error.code;
      };
      expect(await ended(one, opened)).to.equal('Private, by s3cret-hash');
      expect(await ended(two, joined)).to.equal('Private, by s3cret-hash');
      expect(await ended(two, bare)).to.equal('private');
      expect(await ended(two, other)).to.equal('Private, by other');
      expect([...fetches].sort()).to.deep.equal([BARE, `${BARE}/other`, OPENED].sort());
      // What the jobs have left in the cache is kept apart as well.
      expect((await app.extract(two, { url: BARE })).json.error?.code).to.equal('private');
      expect((await app.extract(two, { url: OPENED })).json.data.product.name).to.equal('Private, by s3cret-hash');
    });
  });
}

for (const [where, matchForm] of FORMS) {
  describeOnStacks(`MP3 files of links that grant access ${where}`, (stack) => {
    const once = onceIt(stack);
    const each = matchForm === matchWithAccess ? it : onceIt(stack);
    let folder: string;
    let origin: AudioOrigin;
    let app: ListeningApp;
    let key: string;
    const resolved: string[] = [];

    before(async function () {
      if (!ffmpegPath) this.skip();
      folder = await mkdtemp(path.join(tmpdir(), 'mediagate-access-'));
      origin = await startAudioOrigin();
      for (const [name, seconds] of [
        ['long', 4],
        ['short', 1],
      ] as const) {
        await runFfmpeg(...tone(seconds), '-c:a', 'aac', path.join(folder, `${name}.m4a`));
        origin.put(name, await readFile(path.join(folder, `${name}.m4a`)));
      }
      app = await startApp({
        stack,
        extractor: {
          ...origin.extractor,
          match: matchForm,
          extract: async ({ link }) => inventedExtraction(link.id, { audio: true }),
          async resolveAudio({ link }) {
            resolved.push(opened({ link }));
            const hash = accessIn(link);
            if (hash === undefined) throw new GatewayError('private', 'The item is private.');
            return { url: `${origin.server.origin}/${hash === 's3cret-hash' ? 'long' : 'short'}` };
          },
        },
        gateway: { trustedOrigins: [origin.server.origin], services: { http: undefined } },
      });
      key = await app.makeKey();
    });
    after(async () => {
      await app?.close();
      await origin?.server.close();
      if (folder) await rm(folder, { recursive: true, force: true });
    });

    async function offered(url: string): Promise<string> {
      const { json } = await app.extract(key, { url });
      return new URL(json.data.media.audio_download_links.mp3).pathname;
    }

    beforeEach(() => {
      resolved.length = 0;
    });

    each('belong to their own link', async () => {
      const long = await app.request(await offered(OPENED));
      expect([long.status, resolved]).to.deep.equal([200, [OPENED]]);
      const bare = await app.request(await offered(BARE));
      expect([bare.status, bare.json.error.code]).to.deep.equal([422, 'private']);
      const short = await app.request(await offered(`${BARE}/other`));
      expect(short.status).to.equal(200);
      expect(short.text.length).to.be.below(long.text.length / 2);
      expect(resolved).to.deep.equal([OPENED, BARE, `${BARE}/other`]);
      // One that was made is the same for every form of its link.
      const again = await app.request(await offered(`${OPENED}?utm_source=a`));
      expect([again.status, again.text.length, resolved.length]).to.deep.equal([200, long.text.length, 3]);
    });

    once('have one file name each for any length of the link', async () => {
      const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
      for (const hash of ['h', 'hh', 'hhh']) {
        const target = await offered(`${BARE}/${hash}`);
        const [, name = ''] = /^(.*)\.mp3$/.exec(target) ?? [];
        const found = await Promise.all(
          [...letters].map(async (letter) => {
            const { status } = await app.request(`${name.slice(0, -1)}${letter}.mp3`, { method: 'HEAD' });
            return status === 404 ? '' : letter;
          }),
        );
        expect(found.join(''), hash).to.equal(name.at(-1));
        for (const odd of [`${name}=`, `${name}A`, `${name}==`, `${name}%00`]) {
          expect((await app.request(`${odd}.mp3`, { method: 'HEAD' })).status, odd).to.equal(404);
        }
      }
    });

    once('exist for links of the maximum length', async () => {
      const url = `${BARE}/${'h'.repeat(2_000)}`;
      const { status } = await app.request(await offered(url), { method: 'HEAD' });
      expect(status).to.equal(200);
      const answer = await app.request(await offered(url));
      expect([answer.status, resolved.at(-1)]).to.deep.equal([200, url]);
    });
  });
}

/**
 * Items whose link may carry a hash that grants access: `https://invented.example/item/<digits>[/<hash>]`, and short links
 * `https://inv.example/<path>/<code>` and `https://inv.example/<code>`, whose code alone does not say where they lead.
 */
function matchWithAccess(url: URL): LinkRef | undefined {
  const [, id, hash] = /^\/item\/(\d+)(?:\/([\w-]+))?$/.exec(url.pathname) ?? [];
  if (url.hostname === 'invented.example' && id) {
    return { kind: 'video', id, url: `https://invented.example/item/${id}${hash ? `/${hash}` : ''}` };
  }
  const [, path, code] = /^\/((?:\w\/)?(\w+))$/.exec(url.pathname) ?? [];
  if (url.hostname === 'inv.example' && code)
    return { kind: 'short_link', id: code, url: `https://inv.example/${path}` };
  return undefined;
}

/** As {@link matchWithAccess}, with the hash beside the canonical URL, which has none. */
function matchWithToken(url: URL): LinkRef | undefined {
  const link = matchWithAccess(url);
  const access = link && link.kind !== 'short_link' ? accessIn(link) : undefined;
  return link && access ? { ...link, url: `https://invented.example/item/${link.id}`, access } : link;
}

/** The hash in a link of {@link matchWithAccess} or {@link matchWithToken}. */
function accessIn({ url, access }: LinkRef): string | undefined {
  return access ?? new URL(url).pathname.split('/')[3];
}
