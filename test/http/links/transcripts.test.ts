/** Transcripts of links: from subtitles, from speech recognition, and why there is none; transcriptions of links. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { type Clock, GatewayError, type MediaEntry, systemClock } from 'mediagate';
import { parseBudget } from '../../../server/budgets/index.js';
import type { NewKey } from '../../../server/keys/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { ffmpegPath, runFfmpeg, tone } from '../../support/audio/ffmpeg.js';
import { HEARING, HEARING_FAST, type InventedAudio, inventedAudio } from '../../support/audio/invented-audio.js';
import { invented } from '../../support/links/invented-plugin.js';
import { until } from '../../support/until.js';
import { untilAborted } from '../../support/until-aborted.js';
import { fileOf, toForm } from '../audio/client.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { type MediaItem, startMediaOrigin } from './media-origin.js';

const SECONDS = 8;
/** Of a second. */
const PRICE = 0.01;
const LINK_PRICE = 0.0005;
const OPTIONS = { model: HEARING, maxMinutes: 1, waitSeconds: 30 };

describe('transcripts of links', function () {
  this.timeout(60_000);
  const options = { ...OPTIONS };
  let origin: Awaited<ReturnType<typeof startMediaOrigin>>;
  let app: ListeningApp;
  let audio: InventedAudio;
  let key: string;
  let sound: Buffer;
  let count = 0;
  let elapsed = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + elapsed };

  before(async function () {
    if (!ffmpegPath) this.skip();
    const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-sounds-'));
    await runFfmpeg(...tone(SECONDS), '-c:a', 'aac', '-b:a', '32k', path.join(folder, 'said.m4a'));
    sound = await readFile(path.join(folder, 'said.m4a'));
    await rm(folder, { recursive: true });
    origin = await startMediaOrigin();
    const { plugin, audio: heard } = inventedAudio();
    audio = heard;
    app = await startApp({
      clock,
      prices: createPrices({
        currency: 'USD',
        models: { [HEARING]: { second: PRICE } },
        links: [{ platform: 'invented', price: LINK_PRICE }],
      }),
      transcripts: options,
      gateway: {
        plugins: [{ use: invented(origin.extractor) }, { use: plugin, timeoutMs: 60_000 }],
        audioLinks: { baseUrl: '', secrets: [randomBytes(32)] },
        services: { http: origin.http },
      },
    });
    key = await keyWith('100 USD/month');
  });

  after(async () => {
    await app?.close();
    await origin?.close();
  });

  beforeEach(() => {
    Object.assign(options, OPTIONS);
    elapsed = 0;
    audio.calls.splice(0);
    audio.transcribe = async () => ({
      text: ' Slow water. ',
      language: 'english',
      segments: [{ start: 0, end: 1.23456, text: ' Slow water. ' }],
    });
  });

  async function keyWith(money: string, more: Partial<NewKey> = {}): Promise<string> {
    const budget = parseBudget(money);
    if (!budget) throw new Error('no budget');
    count += 1;
    const groupName = `team${count}`;
    const made = await app.state.budgets.createGroup(groupName, { budgets: [budget], actor: 'operator:ann' });
    const furtherBudgets = made.map(({ id }) => id);
    return app.makeKey({ grants: ['extract', 'audio'], ...more }, { furtherBudgets, groupName });
  }

  const subtitle = (language: string, isAutomatic = false): Omit<MediaEntry, 'url'> => ({
    kind: 'subtitle',
    language,
    auto_generated: isAutomatic,
  });
  const said = (text: string) => Buffer.from(`WEBVTT\n\n00:01.000 --> 00:02.500\n${text}\nis said\n`);
  const urlOf = (item: MediaItem) => `https://invented.example/item/${origin.put(item)}`;

  /** A new item with this sound, and no subtitles. */
  const spoken = (seconds = SECONDS): MediaItem => ({
    entries: [{ kind: 'audio' }],
    content: [sound],
    extraction: { audio: true },
    common: { duration_seconds: seconds },
  });

  async function transcriptOf(url: string, body: object = {}, byKey = key) {
    const { status, json } = await app.extract(byKey, { url, include_transcript: true, ...body });
    expect(status).to.equal(200);
    const notes = (json.limitations as string[]).filter((note) => note.startsWith('transcript'));
    return { transcript: json.data.transcript, notes };
  }

  async function usageOf(byKey: string) {
    await app.state.usage.flushCounts();
    await app.state.admissions.flush();
    const { json } = await app.request('/v1/usage', { headers: { authorization: `Bearer ${byKey}` } });
    const [{ used, reserved }] = json.budgets;
    const models = json.days.flatMap((day: { models: { model: string; requests: number }[] }) => day.models);
    return { used, reserved, models: models.map(({ model, requests }: (typeof models)[0]) => [model, requests]) };
  }

  describe('from subtitles', () => {
    const texts = ['Automatisch', 'Auto', 'Written', 'Geschrieben'];
    const several: MediaItem = {
      entries: [subtitle('de', true), subtitle('en', true), subtitle('en-GB'), subtitle('de')],
      content: texts.map(said),
      common: { language: 'en' },
    };

    it('are in the language of the item, written ones before automatic ones', async () => {
      expect(await transcriptOf(urlOf(several))).to.deep.equal({
        transcript: {
          source: 'captions',
          language: 'en-GB',
          text: 'Written is said',
          segments: [{ start: 1, end: 2.5, text: 'Written is said' }],
        },
        notes: [],
      });
      const { transcript } = await transcriptOf(urlOf({ entries: [subtitle('en', true)], content: [said('Auto')] }));
      expect([transcript.source, transcript.text]).to.deep.equal(['auto_captions', 'Auto is said']);
      expect(audio.calls).to.have.length(0);
    });

    it('are in a preferred language, or say that they are not', async () => {
      const url = urlOf(several);
      const german = await transcriptOf(url, { transcript_languages: ['fr', 'de-AT'] });
      expect([german.transcript.text, german.notes]).to.deep.equal(['Geschrieben is said', []]);
      const french = await transcriptOf(url, { transcript_languages: ['fr'] });
      expect([french.transcript.text, french.notes]).to.deep.equal(['Written is said', ['transcript_language: en-GB']]);
    });

    it('pass over a track that the platform refuses', async () => {
      const refused: MediaItem['content'][number] = (_request, response) => response.writeHead(500).end();
      const { transcript } = await transcriptOf(
        urlOf({
          entries: [subtitle('en'), subtitle('de')],
          content: [refused, said('Nur')],
          common: { language: 'en' },
        }),
      );
      expect(transcript.text).to.equal('Nur is said');
    });

    it('are absent without a request, and refused in wrong types', async () => {
      const { json } = await app.extract(key, { url: urlOf(several) });
      expect(json.data).not.to.have.property('transcript');
      for (const wrong of [
        { include_transcript: 'true' },
        { transcript_languages: [] },
        { transcript_languages: ['x y'] },
      ]) {
        const answer = await app.extract(key, { url: urlOf(several), ...wrong });
        expect([answer.status, answer.json.error.param]).to.deep.equal([400, Object.keys(wrong)[0]]);
      }
    });
  });

  describe('from speech', () => {
    it('are recognised and charged once, in times and as text', async () => {
      const spending = await keyWith('100 USD/month');
      const url = urlOf(spoken());
      const expected = {
        transcript: {
          source: 'speech',
          language: 'english',
          model: HEARING,
          text: 'Slow water.',
          segments: [{ start: 0, end: 1.235, text: 'Slow water.' }],
        },
        notes: [],
      };
      const both = await Promise.all([transcriptOf(url, {}, spending), transcriptOf(url, {}, spending)]);
      expect([...both, await transcriptOf(url, {}, spending)]).to.deep.equal([expected, expected, expected]);
      expect(audio.calls).to.have.length(1);
      const { used, reserved, models } = await usageOf(spending);
      expect(used).to.be.closeTo(SECONDS * PRICE + 3 * LINK_PRICE, 0.002);
      expect([reserved, models]).to.deep.equal([
        0,
        [
          ['invented', 3],
          [HEARING, 1],
        ],
      ]);
    });

    it('add their cost to that of the link, once', async () => {
      const url = urlOf(spoken());
      const costOf = async (body: object) =>
        Number.parseFloat((await app.extract(key, { url, ...body })).headers.get('x-mediagate-cost') ?? '');
      const costs = [
        await costOf({}),
        await costOf({ include_transcript: true }),
        await costOf({ include_transcript: true }),
      ];
      expect(costs[0]).to.equal(LINK_PRICE);
      expect(costs[1]).to.be.closeTo(LINK_PRICE + SECONDS * PRICE, 0.002);
      expect(costs[2]).to.equal(LINK_PRICE);
    });

    it('arrive later if an answer would wait too long', async () => {
      const url = urlOf(spoken());
      const { promise, resolve } = Promise.withResolvers<void>();
      const { transcribe } = audio;
      audio.transcribe = async (call) => {
        await promise;
        return transcribe(call);
      };
      options.waitSeconds = 0.01;
      const first = await transcriptOf(url);
      expect(first.transcript).to.equal(null);
      expect(first.notes[0]).to.match(/^transcript_pending: /);
      options.waitSeconds = 30;
      const second = transcriptOf(url);
      resolve();
      expect((await second).transcript.text).to.equal('Slow water.');
      expect(audio.calls).to.have.length(1);
    });

    it('belong to background jobs: polls start them and answer at once', async () => {
      const { json } = await app.extract(key, { url: urlOf(spoken()), background: true, include_transcript: true });
      expect(json.limitations).to.include('transcript_pending: poll the job');
      const target = json.data.job.status_url;
      const poll = async () => (await app.request(target, { headers: { authorization: `Bearer ${key}` } })).json;
      const pending: string[] = [];
      await until(async () => {
        const { data, limitations } = await poll();
        if (data.transcript === null) pending.push(...limitations);
        return data.transcript?.text === 'Slow water.';
      }, 100);
      expect(pending.filter((note) => !note.startsWith('transcript_pending: '))).to.deep.equal([]);
      expect(audio.calls).to.have.length(1);
    });

    it('are left out, with the reason, where nothing may be spent or nothing can be heard', async () => {
      const whyNot = async (item: MediaItem, byKey = key) => {
        const { transcript, notes } = await transcriptOf(urlOf(item), {}, byKey);
        expect(transcript).to.equal(null);
        return notes[0];
      };
      const plain = await keyWith('100 USD/month', { grants: ['extract'] });
      expect(await whyNot(spoken(), plain)).to.include('no grant audio');
      expect(await whyNot(spoken(), await keyWith('0.01 USD/month'))).to.include('insufficient_quota');
      expect(await whyNot(spoken(61))).to.include('longer than 1 minutes');
      expect(await whyNot({ ...spoken(), common: {} })).to.include('no audio of a known duration');
      expect(await whyNot({ ...spoken(), extraction: {} })).to.include('no audio of a known duration');
      options.model = HEARING_FAST;
      expect(await whyNot(spoken())).to.include(`no price of ${HEARING_FAST}`);
      options.model = 'other';
      expect(await whyNot(spoken())).to.include('model_not_found');
      expect(audio.calls).to.have.length(0);
    });

    it('are refused and free if the audio is longer than the platform says, or cannot be fetched', async () => {
      const spending = await keyWith('100 USD/month');
      const gone: MediaItem['content'][number] = (_request, response) => response.writeHead(404).end();
      for (const item of [spoken(1), { ...spoken(), content: [gone] }]) {
        expect(await transcriptOf(urlOf(item), {}, spending)).to.deep.equal({
          transcript: null,
          notes: ['transcript_unavailable: no subtitles, and speech recognition failed: audio_unavailable'],
        });
      }
      const { used, reserved } = await usageOf(spending);
      expect([used, reserved]).to.deep.equal([2 * LINK_PRICE, 0]);
    });
  });

  describe('from speech that fails', () => {
    const failed = (code: string) => ({
      transcript: null,
      notes: [`transcript_unavailable: no subtitles, and speech recognition failed: ${code}`],
    });
    const broken = async () => {
      throw new GatewayError('upstream_refused', 'The model is out.');
    };

    it('are tried again after a minute, and charged once', async () => {
      const spending = await keyWith('100 USD/month');
      const url = urlOf(spoken());
      const { transcribe } = audio;
      audio.transcribe = broken;
      const ask = () => transcriptOf(url, {}, spending);
      expect(await ask()).to.deep.equal(failed('upstream_refused'));
      audio.transcribe = transcribe;
      expect(await ask()).to.deep.equal(failed('upstream_refused'));
      expect(audio.calls).to.have.length(1);
      elapsed = 61_000;
      const both = await Promise.all([ask(), ask()]);
      expect(both.map(({ transcript }) => transcript?.text)).to.deep.equal(['Slow water.', 'Slow water.']);
      expect(audio.calls).to.have.length(2);
      const { used, reserved, models } = await usageOf(spending);
      expect(used).to.be.closeTo(SECONDS * PRICE + 4 * LINK_PRICE, 0.002);
      expect([reserved, models.find(([model]: string[]) => model === HEARING)]).to.deep.equal([0, [HEARING, 1]]);
    });

    it('are tried ten times in a day', async () => {
      const url = urlOf(spoken());
      audio.transcribe = broken;
      for (let minute = 0; minute < 15; minute += 1) {
        elapsed = minute * 61_000;
        expect((await transcriptOf(url)).transcript).to.equal(null);
      }
      expect(audio.calls).to.have.length(10);
    });

    it('end with the key that asked for them', async () => {
      const revoked = await keyWith('100 USD/month');
      const aborted = new Promise<void>((resolve) => {
        audio.transcribe = async ({ signal }) => {
          signal.addEventListener('abort', () => resolve(), { once: true });
          return untilAborted(signal);
        };
      });
      options.waitSeconds = 0.01;
      expect((await transcriptOf(urlOf(spoken()), {}, revoked)).notes[0]).to.match(/^transcript_pending: /);
      await until(() => audio.calls.length === 1);
      await app.state.keys.revoke((await app.keys.verify(revoked)).id, Date.now());
      await aborted;
    });
  });

  describe('as transcriptions', () => {
    const send = (fields: Parameters<typeof toForm>[0], byKey = key) =>
      app.request('/v1/audio/transcriptions', {
        method: 'POST',
        headers: { authorization: `Bearer ${byKey}` },
        body: toForm({ model: HEARING, ...fields }),
      });

    it('take a link in place of a file, and charge both', async () => {
      const spending = await keyWith('100 USD/month');
      const { status, json } = await send({ url: urlOf(spoken()) }, spending);
      expect([status, json.text]).to.deep.equal([200, ' Slow water. ']);
      const { used, reserved, models } = await usageOf(spending);
      expect(used).to.be.closeTo(SECONDS * PRICE + 3 * LINK_PRICE, 0.002);
      expect([reserved, models]).to.deep.equal([
        0,
        [
          ['invented', 1],
          [HEARING, 1],
        ],
      ]);
    });

    it('refuse a link beside a file, of no platform, without audio, or of a key without the grant', async () => {
      const url = urlOf(spoken());
      const plain = await keyWith('100 USD/month', { grants: ['audio'] });
      const answers = await Promise.all([
        send({ url, file: fileOf(sound) }),
        send({ url: 'https://nobody.example/1' }),
        send({ url: urlOf({ entries: [], content: [] }) }),
        send({ url }, plain),
        send({}),
      ]);
      expect(answers.map(({ status, json }) => [status, json.error.code])).to.deep.equal([
        [400, 'invalid_value'],
        [400, 'unsupported_platform'],
        [502, 'audio_unavailable'],
        [403, 'route_not_allowed'],
        [400, 'missing_required_parameter'],
      ]);
      expect(audio.calls).to.have.length(0);
    });
  });
});
