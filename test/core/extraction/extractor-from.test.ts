/** Extractors that are made from a declaration of methods. */

import { expect } from 'chai';
import type { ExtractCall } from '../../../core/contracts/index.js';
import {
  audioSource,
  type ExtractorDeclaration,
  extractorFrom,
  fallbackSource,
  type ItemCall,
  type ItemMethod,
  limitationNotes,
} from '../../../core/extraction/extractor-from.js';
import { mergePosts, type PartialPost } from '../../../core/extraction/merge.js';
import type { Outcome } from '../../../core/extraction/method-run.js';
import { GatewayError } from '../../../core/runtime/index.js';
import { createManualClock, createRecordingLogger } from '../../../core/testing/index.js';

type Found = Outcome<PartialPost | readonly PartialPost[]>;
type State = { seen: string[] };

const context = { clock: createManualClock(), logger: createRecordingLogger() };
const link = { kind: 'video', id: '7', url: 'https://a.example/7' } as const;
const titled: PartialPost = { common: { title: 'T' } };
const counted: PartialPost = { metrics: { views: 5 } };

function callOf(more: Partial<ExtractCall> = {}): ExtractCall {
  return { link, options: {}, signal: new AbortController().signal, ...more };
}

function method(name: string, outcome: Found | Error, more: Partial<ItemMethod<PartialPost, State>> = {}) {
  return {
    name,
    cost: 1,
    definitive: false,
    async run({ state }: ItemCall<PartialPost, State>) {
      state.seen.push(name);
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    ...more,
  };
}

function open(
  methods: readonly ItemMethod<PartialPost, State>[],
  more: Partial<ExtractorDeclaration<PartialPost, State>> = {},
) {
  return extractorFrom<PartialPost, State>(context, {
    platform: 'invented',
    displayName: 'Invented',
    linkForms: ['https://a.example/{id}'],
    match: () => link,
    mediaHosts: ['.a.example'],
    begin: () => ({ seen: [] }),
    methods,
    isEnough: (found) => found.some((post) => post.metrics) && found.some((post) => post.common),
    isWorthwhile: (found) => found.some((post) => post.common),
    assemble: ({ parts }) => ({ data: mergePosts(parts) }),
    ...more,
  });
}

async function errorOf(promise: Promise<unknown>): Promise<GatewayError> {
  const error = await promise.then(
    () => expect.fail('it gave an answer'),
    (thrown: unknown) => thrown,
  );
  expect(error).to.be.instanceOf(GatewayError);
  return error as GatewayError;
}

describe('an extractor from a declaration', () => {
  it('fulfils the contract with the declared fields', () => {
    const extractor = open([method('page', { kind: 'found', found: titled })], { background: true });
    expect(extractor).to.include({ platform: 'invented', displayName: 'Invented', background: true });
    expect(extractor.mediaHosts).to.deep.equal(['.a.example']);
    expect(extractor.methods?.()).to.deep.equal([{ name: 'page', available: true }]);
    expect(extractor).to.have.all.keys(
      'platform displayName linkForms match mediaHosts background methods extract'.split(' '),
    );
  });

  it('makes a document of the parts of its methods, and names them', async () => {
    const extractor = open([
      method('page', { kind: 'found', found: [titled, counted], limitations: ['metadata_only'] }),
      method('embed', { kind: 'found', found: counted }),
    ]);
    const { data, ...rest } = await extractor.extract(callOf());
    expect(rest).to.deep.equal({ method: 'page', limitations: ['metadata_only'], partial: false });
    expect(data).to.deep.include({ common: { title: 'T' }, metrics: { views: 5 } });
  });

  it('names the failed methods if a partial document has no other note', async () => {
    const failing = [
      method('page', { kind: 'found', found: titled }),
      method('embed', { kind: 'transient', code: 'upstream_error' }),
      method('last', new GatewayError('bot_check', 'No.')),
    ];
    const document = await open(failing).extract(callOf());
    expect(document).to.include({ method: 'page', partial: true });
    expect(document.limitations).to.deep.equal(['partial: embed, last']);
    const partialBy = (limitations?: string[]) =>
      open([method('page', { kind: 'found', found: titled })], {
        assemble: ({ parts }) => ({ data: mergePosts(parts), partial: true, ...(limitations && { limitations }) }),
      }).extract(callOf());
    expect((await partialBy()).limitations).to.deep.equal(['partial']);
    expect((await partialBy([])).limitations).to.deep.equal(['partial']);
    expect((await partialBy(['no_counters'])).limitations).to.deep.equal(['no_counters']);
  });

  it('runs methods until the document is complete', async () => {
    let parts: readonly unknown[] = [];
    const extractor = open(
      [
        method('page', { kind: 'found', found: titled }),
        method('none', { kind: 'found', found: [] }),
        method('embed', { kind: 'found', found: [counted] }),
        method('last', { kind: 'found', found: counted }),
      ],
      {
        assemble(run) {
          parts = run.parts;
          return { data: mergePosts(run.parts), limitations: run.call.state.seen, partial: true };
        },
      },
    );
    const { method: named, limitations, partial } = await extractor.extract(callOf());
    expect({ named, limitations, partial }).to.deep.equal({
      named: 'page+embed',
      limitations: ['page', 'none', 'embed'],
      partial: true,
    });
    expect(parts).to.deep.equal([
      { method: 'page', found: titled },
      { method: 'embed', found: counted },
    ]);
  });

  it('passes methods the results of earlier ones', async () => {
    const met: unknown[] = [];
    const observe = (call: ItemCall<PartialPost, State>) => {
      met.push(
        [...call.outcomes].map(([name, { kind }]) => `${name} ${kind}`),
        call.found(),
      );
      return true;
    };
    const extractor = open([
      method('throws', new GatewayError('upstream_refused', 'No.')),
      method('refused', { kind: 'definitive', code: 'geo_blocked', found: titled }),
      method('failed', { kind: 'transient', code: 'bot_check' }),
      method('page', { kind: 'found', found: [counted] }, { usable: observe }),
    ]);
    const { limitations } = await extractor.extract(callOf());
    expect(met).to.deep.equal([['refused definitive', 'failed transient'], [titled]]);
    expect(limitations).to.deep.equal(['geo_blocked']);
  });

  it('has a state for each call', async () => {
    const seen: string[][] = [];
    const extractor = open([method('page', { kind: 'found', found: [titled, counted] })], {
      assemble({ parts, call }) {
        seen.push(call.state.seen);
        return { data: mergePosts(parts) };
      },
    });
    await Promise.all([extractor.extract(callOf()), extractor.extract(callOf())]);
    expect(seen).to.deep.equal([['page'], ['page']]);
  });

  it('needs no state', async () => {
    const extractor = extractorFrom<PartialPost>(context, {
      platform: 'invented',
      displayName: 'Invented',
      linkForms: [],
      match: () => link,
      methods: [{ name: 'page', cost: 1, definitive: true, run: async () => ({ kind: 'found', found: titled }) }],
      isEnough: () => true,
      isWorthwhile: () => true,
      assemble: ({ parts, call }) => ({ data: mergePosts(parts), audio: call.state === undefined }),
    });
    expect(await extractor.extract(callOf())).to.include({ audio: true });
  });

  it('runs a single method for the live probe', async () => {
    const extractor = open([
      method('page', { kind: 'found', found: [titled, counted] }),
      method('embed', { kind: 'found', found: counted }),
    ]);
    expect((await extractor.extract(callOf({ only: 'embed' }))).method).to.equal('embed');
  });

  it('fails with the error of its methods, or its own explanation', async () => {
    const methods = [method('page', { kind: 'transient', code: 'upstream_refused', reason: 'a login page' })];
    const usual = await errorOf(open(methods).extract(callOf()));
    expect(usual).to.include({ code: 'upstream_refused', platform: 'invented' });
    const explained = open(methods, {
      explain: (error, { outcomes }) =>
        new GatewayError('login_required', 'Signed-in users only.', {
          reason: outcomes.get('page')?.kind,
          attempts: error.attempts,
        }),
    });
    const error = await errorOf(explained.extract(callOf()));
    expect(error).to.include({ code: 'login_required', reason: 'transient' });
    expect(error.attempts).to.have.length(1);
  });

  it('rejects with the reason of its signal, without an explanation', async () => {
    const reason = new GatewayError('cancelled', 'The caller left.');
    const extractor = open([method('page', { kind: 'found', found: titled })], {
      explain: () => expect.fail('explained'),
    });
    expect(await errorOf(extractor.extract(callOf({ signal: AbortSignal.abort(reason) })))).to.equal(reason);
  });

  it('finds audio by running its methods', async () => {
    const files: PartialPost = { media: { entries: [{ url: 'https://a.example/a.m4a', kind: 'audio' }] } };
    const extractor = open([method('page', { kind: 'found', found: [titled, counted, files] })], {
      async resolveAudio({ link: { id } }, run) {
        const { parts } = await run();
        return audioSource(mergePosts(parts).media.entries?.[0], { headers: { referer: id } });
      },
    });
    expect(extractor.audio).to.equal(true);
    expect(await extractor.resolveAudio?.(callOf())).to.deep.equal({
      url: 'https://a.example/a.m4a',
      headers: { referer: '7' },
    });
  });
});

describe('the notes of a result', () => {
  const data = mergePosts([
    {
      method: 'page',
      found: {
        metrics: { views: 1200, likes: 3 },
        precision: { views: 'rounded', comments: 'hidden', saves: 'hidden' },
      },
    },
    { method: 'embed', found: { metrics: { saves: 4 } } },
  ]);

  it('come from the run, the extractor, and the counters', () => {
    const run = { limitations: ['live_now', 'live_now'], restriction: { code: 'geo_blocked' as const } };
    expect(limitationNotes(run, data, 'media_ip_bound', false, undefined, 'live_now')).to.deep.equal([
      'geo_blocked',
      'live_now',
      'media_ip_bound',
      'stats_rounded: views',
      'stats_hidden: comments',
    ]);
    expect(limitationNotes({ limitations: [] }, mergePosts([]))).to.deep.equal([]);
  });

  it('name the answering method if it is not the usual one', () => {
    const parts = [{ method: 'embed' }, { method: 'page' }];
    expect(fallbackSource(parts, 'page')).to.equal('fallback_source: embed');
    expect(fallbackSource(parts, 'page', 'embed')).to.equal(undefined);
    expect(fallbackSource([], 'page')).to.equal(undefined);
  });
});

describe('an audio source', () => {
  it('is the chosen file', () => {
    const file = { url: 'https://a.example/a.m4a', kind: 'audio', mime: 'audio/mp4', duration_seconds: 9 } as const;
    expect(audioSource(file, { durationSeconds: 8 })).to.deep.equal({
      url: file.url,
      mime: 'audio/mp4',
      durationSeconds: 9,
    });
    expect(audioSource({ url: file.url, kind: 'video' }, { durationSeconds: 8 })).to.include({ durationSeconds: 8 });
  });

  it('is missing without a file', () => {
    expect(() => audioSource(undefined))
      .to.throw(GatewayError)
      .with.property('code', 'audio_unavailable');
  });
});
