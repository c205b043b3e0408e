/** The extraction service: caching, short links, MP3 offers and aborts. */

import { expect } from 'chai';
import {
  type Cache,
  type Clock,
  createGateway,
  type Extraction,
  type Extractor,
  type Gateway,
  GatewayError,
  type LogFields,
  type Logger,
  type MediaEntry,
  type PostData,
} from 'mediagate';
import { createMemoryCache } from 'mediagate/testing';
import { silentLogger } from '../../../core/runtime/logger.js';
import { invented, inventedExtraction } from '../../support/links/invented-plugin.js';
import { until } from '../../support/until.js';

const LINK = 'https://invented.example/item/7';

/** A gateway with one extractor whose behaviour and time the test decides. */
async function open(
  more: Partial<Extractor>,
  options: { cache?: Cache; logger?: Logger; audio?: boolean; ffmpegPath?: string } = {},
) {
  let now = Date.UTC(2026, 0, 1);
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
  const gateway = await createGateway({
    plugins: [{ use: invented(more) }],
    services: {
      clock,
      ...(options.cache && { cache: options.cache }),
      ...(options.logger && { logger: options.logger }),
    },
    cacheTtlMs: 600_000,
    ...(options.audio && {
      audioLinks: { baseUrl: 'http://gateway.example', secrets: [new Uint8Array(32).fill(7)] },
      ffmpegPath: options.ffmpegPath,
    }),
  });
  return {
    gateway,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

type Opened = Awaited<ReturnType<typeof open>>;

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'answered',
    (error: unknown) => (error instanceof GatewayError ? error.code : String(error)),
  );

describe('extraction', () => {
  let gateway: Gateway | undefined;
  afterEach(async () => gateway?.close());

  it('fetches a link once for simultaneous callers, and then answers from the cache', async () => {
    let fetches = 0;
    const opened = await open({
      extract: async ({ link }) => {
        fetches += 1;
        await new Promise((resolve) => setTimeout(resolve, 20));
        return inventedExtraction(link.id);
      },
    });
    gateway = opened.gateway;
    const links = [LINK, `${LINK}?utm_source=a`, `${LINK}#b`];
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, index) => opened.gateway.extract({ url: links[index % 3] ?? LINK })),
    );
    expect(fetches).to.equal(1);
    expect(results.map((result) => result.inputUrl)).to.include.members(links);
    await opened.gateway.extract({ url: LINK });
    expect(fetches).to.equal(1);
    opened.pass(600_000);
    await opened.gateway.extract({ url: LINK });
    expect(fetches).to.equal(2);
  });

  it('caches partial results and refusals for only 30 seconds', async () => {
    for (const extract of [
      async () => inventedExtraction('7', { partial: true }),
      async () => {
        throw new GatewayError('private', 'This video is private.');
      },
    ]) {
      let fetches = 0;
      const opened = await open({
        extract: () => {
          fetches += 1;
          return extract();
        },
      });
      await codeOf(opened.gateway.extract({ url: LINK }));
      opened.pass(29_999);
      await codeOf(opened.gateway.extract({ url: LINK }));
      expect(fetches).to.equal(1);
      opened.pass(1);
      await codeOf(opened.gateway.extract({ url: LINK }));
      expect(fetches).to.equal(2);
      await opened.gateway.close();
    }
  });

  it('does not cache outages, and answers with an older result during one', async () => {
    let failing = false;
    const opened = await open({
      extract: async ({ link }) => {
        if (failing) throw new GatewayError('bot_check', 'The source asks for a check.');
        return inventedExtraction(link.id, { limitations: ['stats_rounded'] });
      },
    });
    gateway = opened.gateway;
    await opened.gateway.extract({ url: LINK });
    failing = true;
    opened.pass(700_000);
    const result = await opened.gateway.extract({ url: LINK });
    expect(result.limitations).to.deep.equal(['stats_rounded', 'stale_cache: 700 seconds old']);
    expect(result.ageMs).to.equal(700_000);
    opened.pass(86_400_000);
    expect(await codeOf(opened.gateway.extract({ url: LINK }))).to.equal('bot_check');
    failing = false;
    expect((await opened.gateway.extract({ url: LINK })).limitations).to.deep.equal(['stats_rounded']);
  });

  it('ignores a cached result whose media URL expires within a minute', async () => {
    const begin = Date.UTC(2026, 0, 1);
    const url = 'https://invented.example/7.mp4';
    const withExpiry = (expiresAt: number): Extraction => {
      const { data, ...rest } = inventedExtraction('7');
      const entries: MediaEntry[] = [
        { url: `${url}?lasting`, kind: 'video', expires_at: new Date(begin + 7_200_000).toISOString() },
        { url, kind: 'video', expires_at: new Date(expiresAt).toISOString() },
        { url: `${url}?forever`, kind: 'video' },
      ];
      return { ...rest, data: { ...data, media: { image_urls: [], video_urls: [url], entries } } as PostData };
    };
    const cache = createMemoryCache();
    let failing = false;
    let next = withExpiry(begin + 300_000);
    const extract = async () => {
      if (failing) throw new GatewayError('upstream_error', 'The source failed.');
      return next;
    };
    const opened = await open({ extract }, { cache });
    const other = await open({ extract }, { cache });
    gateway = opened.gateway;
    const uses = async ({ gateway: asked }: Opened = opened) => (await asked.extract({ url: LINK })).cache;
    try {
      expect(await uses()).to.equal('miss');
      for (const { pass } of [opened, other]) pass(239_999);
      expect([await uses(), await uses(other)]).to.deep.equal(['hit', 'hit']);
      for (const { pass } of [opened, other]) pass(1);
      failing = true;
      // Nor an older result during an outage, from either cache.
      for (const node of [opened, other]) expect(await codeOf(uses(node))).to.equal('upstream_error');
      failing = false;
      next = withExpiry(begin + 240_000 + 59_000);
      expect([await uses(), await uses()]).to.deep.equal(['miss', 'miss']);
      // It had expired on arrival, so another fetch is of no use: cached as briefly as a partial result.
      next = withExpiry(begin + 200_000);
      expect([await uses(), await uses()]).to.deep.equal(['miss', 'hit']);
      for (const { pass } of [opened, other]) pass(30_000);
      next = withExpiry(begin + 86_400_000);
      expect([await uses(), await uses(), await uses(other)]).to.deep.equal(['miss', 'hit', 'hit']);
    } finally {
      await other.gateway.close();
    }
  });

  it('ignores a cached product after one of its media URLs has expired', async () => {
    const expires_at = new Date(Date.UTC(2026, 0, 1) + 62_000).toISOString();
    const media: MediaEntry[] = [{ url: 'https://invented.example/7.jpg', kind: 'image', expires_at }];
    const product = { product_id: '7', url: LINK, image_urls: [], video_urls: [], media };
    const data = { product, reviews: { five_star: [], one_star: [] }, raw_stats: {} };
    const opened = await open({ extract: async () => ({ method: 'invented', data }) });
    gateway = opened.gateway;
    const uses = async () => (await opened.gateway.extract({ url: LINK })).cache;
    expect([await uses(), await uses()]).to.deep.equal(['miss', 'hit']);
    opened.pass(2_000);
    expect(await uses()).to.equal('miss');
  });

  it('refuses a document that breaks its schema', async () => {
    const broken = inventedExtraction('7');
    for (const damage of [
      { title: '' },
      { published_at: 'yesterday' },
      { thumbnail: '/relative.jpg' },
      { surprise: 1 },
    ]) {
      const opened = await open({
        extract: async () => ({ ...broken, data: { ...broken.data, common: damage } }) as never,
      });
      expect(await codeOf(opened.gateway.extract({ url: LINK }))).to.equal('upstream_changed');
      await opened.gateway.close();
    }
  });

  for (const [what, answer, said] of [
    ['nothing', undefined, 'extract() answered nothing'],
    ['a text', 'done', 'extract() answered nothing'],
    ['no document', { method: 'invented' }, 'the data of what extract() answered must be an object'],
    ['no method', { data: inventedExtraction('7').data }, 'the method of what extract() answered must be a text'],
    ['a note that is no list', { ...inventedExtraction('7'), limitations: 'oops' }, 'limitations'],
    [
      'a document that breaks its schema',
      { ...inventedExtraction('7'), data: { ...inventedExtraction('7').data, ids: 1 } },
      'data.ids must be object',
    ],
  ] as const) {
    it(`logs which plugin answered ${what}, and reports an unreadable answer to the caller`, async () => {
      const lines: [string, LogFields | undefined][] = [];
      const error = (message: string, fields?: LogFields) => void lines.push([message, fields]);
      const opened = await open({ extract: async () => answer as never }, { logger: { ...silentLogger, error } });
      gateway = opened.gateway;
      expect(await codeOf(opened.gateway.extract({ url: LINK }))).to.equal('upstream_changed');
      const [[message, fields] = ['']] = lines;
      expect([message, fields?.entry]).to.deep.equal(['a plugin threw', 'invented']);
      expect(fields?.error).to.be.an('error').with.property('message').that.contains(said);
    });
  }

  it('refuses a document that is larger than any item', async () => {
    const huge = inventedExtraction('7', { limitations: ['x'.repeat(9 * 1024 * 1024)] });
    const opened = await open({ extract: async () => huge });
    gateway = opened.gateway;
    expect(await codeOf(opened.gateway.extract({ url: LINK }))).to.equal('upstream_changed');
  });

  it('does not cache a document that breaks its schema, and answers the next valid one', async () => {
    let poisoned = true;
    const opened = await open({
      extract: async ({ link }) => {
        const clean = inventedExtraction(link.id);
        return poisoned ? ({ ...clean, data: { ...clean.data, common: { surprise: 1 } } } as never) : clean;
      },
    });
    gateway = opened.gateway;
    expect(await codeOf(opened.gateway.extract({ url: LINK }))).to.equal('upstream_changed');
    poisoned = false;
    const result = await opened.gateway.extract({ url: LINK });
    expect([result.cache, result.link.id]).to.deep.equal(['miss', '7']);
    expect((await opened.gateway.extract({ url: LINK })).cache).to.equal('hit');
  });

  it('reads results that another process cached, and drops withdrawn items there', async () => {
    const memory = createMemoryCache();
    const keys = new Set<string>();
    const set: Cache['set'] = (key, value, ttlMs) => memory.set(key, value, ttlMs).finally(() => keys.add(key));
    const cache: Cache = { ...memory, set };
    let next = inventedExtraction('7', { partial: true, limitations: ['first'] });
    const nodes = await Promise.all([1, 2].map(() => open({ extract: async () => next }, { cache })));
    const [one, two] = nodes as [Opened, Opened];
    await one.gateway.extract({ url: LINK });
    for (const { pass } of nodes) pass(30_000);
    next = inventedExtraction('7', { limitations: ['second'] });
    await two.gateway.extract({ url: LINK });
    next = inventedExtraction('7', { limitations: ['third'] });
    expect((await one.gateway.extract({ url: LINK })).limitations).to.deep.equal(['second']);

    const withdrawing = await open(
      {
        extract: async () => {
          throw new GatewayError('removed', 'It is gone.');
        },
      },
      { cache },
    );
    for (const { pass } of [...nodes, withdrawing]) pass(600_000);
    withdrawing.pass(30_000);
    expect(await codeOf(withdrawing.gateway.extract({ url: LINK }))).to.equal('removed');
    expect(keys.size).to.equal(1);
    for (const key of keys) expect(await cache.get(key)).to.equal(undefined);
    for (const { gateway: node } of [...nodes, withdrawing]) await node.close();
  });

  it('fetches once while one request waits longer for the shared cache', async () => {
    for (const failure of [undefined, new GatewayError('removed', 'It is gone.')]) {
      const waiting: (() => void)[] = [];
      const memory = createMemoryCache();
      const get: Cache['get'] = (key) =>
        new Promise((resolve) => {
          waiting.push(() => resolve(undefined));
          if (waiting.length === 1) resolve(memory.get(key) as Promise<undefined>);
        });
      let fetches = 0;
      const opened = await open(
        {
          extract: async ({ link }) => {
            fetches += 1;
            if (failure) throw failure;
            return inventedExtraction(link.id);
          },
        },
        { cache: { ...memory, get } },
      );
      const answers = [1, 2].map(() => codeOf(opened.gateway.extract({ url: LINK })));
      const first = await answers[0];
      expect(waiting).to.have.length(2);
      waiting[1]?.();
      expect([first, await answers[1], fetches]).to.deep.equal([failure?.code ?? 'answered', first, 1]);
      await opened.gateway.close();
    }
  });

  it('follows a short link and matches its target', async () => {
    const walks: string[] = [];
    const goals: Record<string, string> = {
      good: LINK,
      profile: 'https://elsewhere.example/@somebody',
      loop: 'https://inv.example/loop',
      other: 'https://inv.example/good',
    };
    const opened = await open({
      resolve: async ({ link }) => {
        walks.push(link.id);
        return new URL(goals[link.id] ?? 'https://inv.example/');
      },
    });
    gateway = opened.gateway;
    const result = await opened.gateway.extract({ url: 'https://inv.example/good' });
    expect(result.link.id).to.equal('7');
    expect(result.inputUrl).to.equal('https://inv.example/good');
    await opened.gateway.extract({ url: 'https://inv.example/good' });
    expect(walks).to.deep.equal(['good']);
    expect((await opened.gateway.extract({ url: 'https://inv.example/other' })).link.id).to.equal('7');
    expect(await codeOf(opened.gateway.extract({ url: 'https://inv.example/profile' }))).to.equal(
      'redirected_to_unsupported',
    );
    expect(await codeOf(opened.gateway.extract({ url: 'https://inv.example/loop' }))).to.equal('short_link_dead');
  });

  it('resolves a changing short link again after a minute, and others after a day', async () => {
    let current = 0;
    const opened = await open({
      match(url) {
        const [, host, path = ''] = /^https:\/\/(inv\w*)\.example\/(?:item\/)?(\w+)$/.exec(url.href) ?? [];
        if (host === 'invented') return { kind: 'video', id: path, url: url.href };
        if (host === 'inv') return { kind: 'short_link', id: path, url: url.href, moves: path === 'live' };
        return undefined;
      },
      resolve: async () => {
        current += 1;
        return new URL(`https://invented.example/item/${current}`);
      },
    });
    gateway = opened.gateway;
    const itemOf = async (code: string) =>
      (await opened.gateway.extract({ url: `https://inv.example/${code}` })).link.id;
    expect([await itemOf('live'), await itemOf('live'), await itemOf('kept')]).to.deep.equal(['1', '1', '2']);
    opened.pass(61_000);
    expect([await itemOf('live'), await itemOf('kept')]).to.deep.equal(['3', '2']);
    opened.pass(86_400_000);
    expect(await itemOf('kept')).to.equal('4');
  });

  it('reports the platform of a dead short link, and the failure', async () => {
    const opened = await open({
      resolve: async ({ link: { id } }) => {
        if (id === 'dead') throw new GatewayError('short_link_dead', 'It leads nowhere.', { reason: 'HTTP 404' });
        return new URL(id === 'loop' ? 'https://inv.example/loop' : 'https://elsewhere.example/@somebody');
      },
    });
    gateway = opened.gateway;
    for (const [id, code, reason] of [
      ['dead', 'short_link_dead', 'HTTP 404'],
      ['loop', 'short_link_dead', undefined],
      ['profile', 'redirected_to_unsupported', 'elsewhere.example'],
    ] as const) {
      const error = await opened.gateway.extract({ url: `https://inv.example/${id}` }).catch((thrown) => thrown);
      expect([error.code, error.platform, error.reason], id).to.deep.equal([code, 'invented', reason]);
      expect(error.attempts, id).to.have.length(1);
      expect(error.attempts[0], id).to.include({ method: 'short_link', outcome: code });
    }
  });

  it('aborts the work when the last caller leaves, and not before', async () => {
    let begun = 0;
    let aborted = 0;
    let answer = () => {};
    const opened = await open({
      extract: ({ signal }) =>
        new Promise((resolve, reject) => {
          begun += 1;
          answer = () => resolve(inventedExtraction('7'));
          signal.addEventListener('abort', () => {
            aborted += 1;
            reject(signal.reason);
          });
        }),
    });
    gateway = opened.gateway;
    const [first, second] = [new AbortController(), new AbortController()];
    const calls = [first, second].map(({ signal }) => codeOf(opened.gateway.extract({ url: LINK, signal })));
    await until(() => begun === 1);
    first.abort(new Error('left'));
    expect(await calls[0]).to.match(/left/);
    answer();
    expect(await calls[1]).to.equal('answered');
    expect(aborted).to.equal(0);
    opened.pass(600_000);
    const third = new AbortController();
    const last = codeOf(opened.gateway.extract({ url: LINK, signal: third.signal }));
    await until(() => begun === 2);
    third.abort(new Error('left too'));
    await last;
    expect(aborted).to.equal(1);
  });

  it('offers an MP3 link if the item has audio, the caller wants it and the platform supports it', async () => {
    const sounding = { audio: true, extract: async () => inventedExtraction('7', { audio: true }) };
    const opened = await open(sounding, { audio: true, ffmpegPath: 'ffmpeg' });
    gateway = opened.gateway;
    expect(opened.gateway.platforms()[0]?.features.audio_mp3).to.equal(true);
    const { audioLink } = await opened.gateway.extract({ url: LINK });
    expect(audioLink?.url).to.match(/^http:\/\/gateway\.example\/v1\/extract\/audio\/[\w-]+\.mp3$/);
    expect(audioLink?.expiresAt).to.equal('2026-01-02T00:00:00.000Z');
    expect((await opened.gateway.extract({ url: LINK, includeAudioMp3: false })).audioLink).to.equal(undefined);
    const silent = await open({ audio: true }, { audio: true, ffmpegPath: 'ffmpeg' });
    const mute = await silent.gateway.extract({ url: LINK });
    expect(mute.audioLink).to.equal(undefined);
    expect(mute.limitations).to.deep.equal([]);
    await silent.gateway.close();
  });

  it('reports that there is no MP3 without ffmpeg', async () => {
    const sounding = { audio: true, extract: async () => inventedExtraction('7', { audio: true }) };
    const opened = await open(sounding, { audio: true });
    gateway = opened.gateway;
    expect(opened.gateway.platforms()[0]?.features.audio_mp3).to.equal(false);
    const { audioLink, limitations } = await opened.gateway.extract({ url: LINK });
    expect(audioLink).to.equal(undefined);
    expect(limitations).to.deep.equal(['mp3_unavailable']);
    expect((await opened.gateway.extract({ url: LINK, includeAudioMp3: false })).limitations).to.deep.equal([]);
  });

  it('works without a working cache', async () => {
    const broken: Cache = { get: async () => undefined, set: async () => {}, delete: async () => {} };
    const opened = await open({}, { cache: broken });
    gateway = opened.gateway;
    expect((await opened.gateway.extract({ url: LINK })).link.id).to.equal('7');
  });
});
