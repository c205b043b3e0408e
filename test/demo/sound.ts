/** The part of the demo with audio. */

import { mp3Seconds } from '../support/audio/mp3-length.js';
import { clock, joined } from './answer-box.js';
import { download, mebibytes, whileSent } from './download.js';
import { videoSample } from './link-samples.js';
import type { DemoPart } from './stage.js';

/** The sound of a video as an MP3: made while it is downloaded for the first time, and kept. */
export const soundPart: DemoPart = {
  title: 'A video as MP3    GET /v1/extract/audio/{name}.mp3',
  async play({ gateway, key, terminal, keep }) {
    const { json } = await gateway.extract(key, { url: videoSample.url });
    const { mp3, expires_at: expiresAt } = json.data.media.audio_download_links;
    if (!mp3) throw new Error('No MP3 link is offered: is there an ffmpeg? "mediagate doctor" says.');

    const wait = terminal.wait('the first download makes the file');
    const first = await download(mp3, { wait }).finally(() => wait.end());
    const seconds = mp3Seconds(first.bytes);
    const part = await download(mp3, { range: 'bytes=0-1023' });
    const file = await keep('sound.mp3', first.bytes);
    terminal.box({
      title: mp3,
      note: `${first.status} · ${first.ms} ms`,
      good: true,
      rows: [
        ['video', joined([json.data.common.title, clock(json.data.common.duration_seconds)])],
        ['sound', joined([clock(seconds), mebibytes(first.bytes), first.headers.get('content-type')])],
        ['made', whileSent(first)],
        ['again', `${part.status} ${part.headers.get('content-range')} in ${part.ms} ms`],
        ['expires', expiresAt],
        ['saved', file],
      ],
    });
  },
};
