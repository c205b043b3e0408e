/** Audio of the photo network's posts. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { matchedLink } from 'mediagate/plugin';
import { createFakeHttp, extractorOf, pluginFolder, setUpPlugin } from 'mediagate/testing';
import photo from '../index.js';

const fixture = (name: string) => readFileSync(path.join(pluginFolder(import.meta.url), 'fixtures', name));

async function audioEntry(shortcode: string, page: Buffer) {
  const http = createFakeHttp(() => ({ headers: { 'content-type': 'text/html' }, body: page }));
  const extractor = extractorOf(await setUpPlugin({ plugin: photo, http }));
  const link = matchedLink(extractor.match(new URL(`https://www.instagram.com/p/${shortcode}/`)));
  if (!link || !extractor.resolveAudio) throw new Error('the link has no audio');
  return extractor.resolveAudio({ link, options: {}, signal: new AbortController().signal });
}

describe('photo: audio', () => {
  it('is the smallest audio file, requested as the site would', async () => {
    const audio = await audioEntry('DX6B-kzkPRH', fixture('relay-2026/page.html'));
    expect(audio.url).to.match(/dashsound\.mp4/);
    expect(audio).to.include({ mime: 'audio/mp4', durationSeconds: 31.417 });
    expect(audio.headers).to.include({ referer: 'https://www.instagram.com/' });
  });

  it('is that of a video if no audio files are listed', async () => {
    const audio = await audioEntry('DKtuaNToeiO', fixture('web-info-2025/page.html'));
    expect(audio.url).to.match(/slide3_/);
  });

  it('is refused if a post has none', async () => {
    const refusal = await audioEntry('BtZ9PK7j0I_', fixture('shared-data-2019/page.html')).catch((error) => error);
    expect(refusal).to.include({ code: 'audio_unavailable', platform: 'photo' });
  });
});
