/** Where the short-video plugin finds the audio of an item. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import {
  createFakeHttp,
  createReplay,
  extractorOf,
  type FakeReply,
  pluginFolder,
  readFixture,
  setUpPlugin,
} from 'mediagate/testing';
import clipVideo from '../index.js';

const fixtures = path.join(pluginFolder(import.meta.url), 'fixtures');

async function sound(id: string, http: Parameters<typeof setUpPlugin>[0]['http']) {
  const extractor = extractorOf(await setUpPlugin({ plugin: clipVideo, http }));
  const link = { kind: 'video', id, url: `https://www.tiktok.com/@i/video/${id}` } as const;
  return extractor.resolveAudio?.({ link, options: {}, signal: new AbortController().signal });
}

const replay = (name: string) => createReplay(readFixture(path.join(fixtures, name)));

/** Each address answers by the first text that it contains. */
function byPath(replies: Readonly<Record<string, FakeReply>>) {
  return createFakeHttp(({ url }) => {
    const key = Object.keys(replies).find((text) => String(url).includes(text));
    return (key && replies[key]) || { status: 404 };
  });
}

const body = (name: string, file: string) => readFileSync(path.join(fixtures, name, file), 'utf8');

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'a source',
    (error: { code: string }) => error.code,
  );
}

describe('clip_video audio', () => {
  it('is the smallest file of the page, with the cookies of the same visit', async () => {
    const source = await sound('7670000000000000001', replay('desktop-2026'));
    expect(source?.url).to.contain('h264-540');
    expect(source).to.include({ mime: 'video/mp4', durationSeconds: 34 });
    expect(source?.headers).to.include({
      referer: 'https://www.tiktok.com/',
      cookie: 'ttwid=1%7Cinvented; tt_chain_token=inventedchain==',
    });
  });

  it('comes from the embedded player if the page set no cookie for its files', async () => {
    const http = byPath({
      '/@i/video/': { body: body('desktop-2026', 'page.html') },
      '/embed/v2/': { body: body('desktop-2026', 'embed.html') },
    });
    const source = await sound('7670000000000000001', http);
    expect(source?.url).to.contain('/embed/');
    expect(source?.headers).not.to.have.property('cookie');
  });

  it('is the music of a slideshow', async () => {
    const source = await sound('7670000000000000002', replay('slideshow-2026'));
    expect(source?.url).to.contain('/sound/');
    expect(source).to.include({ mime: 'audio/mpeg', durationSeconds: 21 });
  });

  it('comes from the player’s interface if nothing else answers', async () => {
    const source = await sound('7670000000000000010', replay('player-only'));
    expect(source?.url).to.contain('player-540');
  });

  it("fails with the platform's reason", async () => {
    expect(await codeOf(sound('7670000000000000020', replay('removed')))).to.equal('removed');
    expect(
      await codeOf(sound('7670000000000000034', byPath({ '/video/': { body: body('challenge', 'challenge.html') } }))),
    ).to.equal('bot_check');
  });

  it('fails for an item without audio', async () => {
    expect(
      await codeOf(sound('7670000000000000014', byPath({ '/@i/video/': { body: body('muted', 'page.html') } }))),
    ).to.equal('audio_unavailable');
  });
});
