/** Files and attributes in DASH manifests, cut and hostile ones included. */

import { expect } from 'chai';
import { readDashManifest } from '../../../../core/extraction/scraping/dash.js';

const VIDEO = 'https://video.a.example/v.mp4?a=1&amp;oe=6553F100';
const MANIFEST = `<?xml version="1.0"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT0H0M12.5S">
<Period><AdaptationSet id="0" contentType="video" frameRate="15360/512">
<Representation id="1" bandwidth="900000" codecs="avc1.64001f" mimeType="video/mp4" width="720" height="1280" FBContentLength="1234" FBQualityLabel="720p"><BaseURL>${VIDEO}</BaseURL><SegmentBase/></Representation>
<Representation id="2" bandwidth="90" mimeType="video/mp4" frameRate="30"><SegmentTemplate media="x"/></Representation>
<Representation id="3" mimeType="video/mp4"><BaseURL>javascript:alert(1)</BaseURL></Representation>
</AdaptationSet><AdaptationSet contentType="audio">
<Representation bandwidth="64000" FBQualityLabel="x" width="7"><BaseURL>https://video.a.example/a.mp4</BaseURL></Representation>
</AdaptationSet><AdaptationSet contentType="text"><Representation mimeType="text/vtt"><BaseURL>https://video.a.example/t.vtt</BaseURL></Representation></AdaptationSet></Period></MPD>`;

const defined = (value: object) => Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));

describe('a DASH manifest', () => {
  it('lists its whole files', () => {
    const { files, durationSeconds } = readDashManifest(MANIFEST);
    expect(durationSeconds).to.equal(12.5);
    expect(files.map(defined)).to.deep.equal([
      {
        url: 'https://video.a.example/v.mp4?a=1&oe=6553F100',
        kind: 'video',
        mime: 'video/mp4',
        codecs: 'avc1.64001f',
        width: 720,
        height: 1280,
        fps: 30,
        quality: '720p',
        bitrate: 900_000,
        size: 1234,
        has_video: true,
        has_audio: false,
        expires_at: '2023-11-14T22:13:20Z',
      },
      {
        url: 'https://video.a.example/a.mp4',
        kind: 'audio',
        mime: 'audio/mp4',
        bitrate: 64_000,
        has_video: false,
        has_audio: true,
      },
    ]);
  });

  it('is empty for other text', () => {
    for (const value of [
      '',
      '<MPD>',
      '<html>',
      undefined,
      7,
      {},
      '<MPD><AdaptationSet ',
      '<MPD><AdaptationSet a><Representation ',
    ])
      expect(readDashManifest(value), String(value)).to.deep.equal({ files: [] });
  });

  it('is read up to the place where it was cut', () => {
    const cut = MANIFEST.slice(0, MANIFEST.indexOf('<SegmentBase/>'));
    expect(readDashManifest(cut).files).to.have.length(1);
  });

  for (const [head, piece] of [
    ['<MPD>', '<AdaptationSet '],
    ['<MPD>', '<AdaptationSet>'],
    ['<MPD>', '<AdaptationSet a><Representation b>'],
    ['<MPD><AdaptationSet a>', '<Representation b>'],
    ['<MPD><AdaptationSet a>', '<Representation b><BaseURL>'],
    ['<MPD><AdaptationSet a><Representation b>', '<BaseURL '],
    ['<MPD><AdaptationSet a><Representation b>', '<BaseURL>aaaaaaaa'],
    [
      '<MPD><AdaptationSet a>',
      '<Representation mimeType="video/mp4"><BaseURL>https://a.example/x</BaseURL></Representation>',
    ],
    ['<MPD ', ' mediaPresentationDuration="P'],
    ['<MPD><AdaptationSet ', 'mimeType="a" '],
  ] as const) {
    it(`is read quickly in a megabyte of ${head}${piece}`, () => {
      const text = head + piece.repeat(2 ** 20 / piece.length);
      const started = process.cpuUsage();
      expect(readDashManifest(text).files.length).to.be.at.most(60);
      expect(process.cpuUsage(started).user).to.be.below(500_000);
    });
  }
});
