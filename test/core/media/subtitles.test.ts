/** Subtitles in every form that platforms give, and what is written of them. */

import { expect } from 'chai';
import { encodeSubtitles, parseSubtitles } from '../../../core/media/index.js';

const read = (text: string) => parseSubtitles(Buffer.from(text));
const TWO = [
  { start: 1, end: 2.5, text: 'The gates\nare open' },
  { start: 3661.25, end: 3662, text: 'a < b & c' },
];

describe('subtitles', () => {
  const forms: Readonly<Record<string, string>> = {
    WebVTT:
      '\ufeffWEBVTT - A title\nKind: captions\n\nNOTE a remark\n\nSTYLE\n::cue { color: red }\n\nfirst\n00:01.000 --> 00:02.500 align:start position:0%\n<v Ada><i>The gates</i>\nare open\n\n01:01:01.250 --> 01:01:02.000\na &lt; b &amp; c\n',
    SubRip:
      '1\r\n00:00:01,000 --> 00:00:02,500\r\n<font color="red">The gates</font>\r\n{\\an8}are open\r\n\r\n2\r\n01:01:01,250 --> 01:01:02,000\r\na < b & c\r\n',
    'SubRip without empty lines':
      '1\n00:00:01,000 --> 00:00:02,500\nThe gates\nare open\n2\n01:01:01,250 --> 01:01:02,000\na < b & c',
    TTML: '<?xml version="1.0"?><tt xmlns="http://www.w3.org/ns/ttml"><body><div><p begin="00:00:01.000" end="2.5s">The gates<br/>are <span>open</span></p><p begin="01:01:01.25" dur="750ms">a &lt; b &amp; c</p></div></body></tt>',
    'timed text in milliseconds':
      '<?xml version="1.0" encoding="utf-8" ?><timedtext format="3"><head><ws id="0"/></head><body><p t="1000" d="1500">The gates\n<s>are</s><s t="240"> open</s></p><p t="3661250" d="750">a &lt; b &amp; c</p></body></timedtext>',
    'timed text in seconds':
      '<?xml version="1.0" encoding="utf-8" ?><transcript><text start="1" dur="1.5">The gates\nare open</text><text start="3661.25" dur="0.75">a &amp;lt; b &amp;amp; c</text></transcript>',
    events: JSON.stringify({
      wireMagic: 'pb3',
      events: [
        { tStartMs: 0, dDurationMs: 9_000_000, id: 1 },
        { tStartMs: 1000, dDurationMs: 1500, segs: [{ utf8: 'The gates\n' }, { utf8: 'are open' }] },
        { tStartMs: 2500, aAppend: 1, segs: [{ utf8: '\n' }] },
        { tStartMs: 3_661_250, dDurationMs: 750, segs: [{ utf8: 'a < b & c' }] },
      ],
    }),
    utterances: JSON.stringify({
      utterances: [
        { start_time: 1000, end_time: 2500, text: 'The gates\nare open', words: [] },
        { start_time: 3_661_250, end_time: 3_662_000, text: 'a < b & c' },
      ],
    }),
  };
  for (const [form, text] of Object.entries(forms)) {
    it(`are read from ${form}`, () => {
      expect(read(text)).to.deep.equal(TWO);
    });
  }

  it('are written as WebVTT, SubRip and text, and read again', () => {
    expect(encodeSubtitles(TWO, 'vtt')).to.equal(
      'WEBVTT\n\n00:00:01.000 --> 00:00:02.500\nThe gates\nare open\n\n01:01:01.250 --> 01:01:02.000\na &lt; b &amp; c\n\n',
    );
    expect(encodeSubtitles(TWO, 'srt')).to.equal(
      '1\n00:00:01,000 --> 00:00:02,500\nThe gates\nare open\n\n2\n01:01:01,250 --> 01:01:02,000\na < b & c\n\n',
    );
    expect(encodeSubtitles(TWO, 'txt')).to.equal('The gates\nare open\na < b & c\n');
    for (const format of ['vtt', 'srt'] as const) expect(read(encodeSubtitles(TWO, format))).to.deep.equal(TWO);
  });

  it('that roll have each line once, with all of its time', () => {
    const rolling = `WEBVTT

00:00:00.160 --> 00:00:02.389 align:start position:0%
 
hello<00:00:00.480><c> world</c>

00:00:02.389 --> 00:00:02.399 align:start position:0%
hello world
 

00:00:02.399 --> 00:00:04.789 align:start position:0%
hello world
this<00:00:02.800><c> is</c>

00:00:04.789 --> 00:00:04.799 align:start position:0%
this is
 
`;
    expect(read(rolling)).to.deep.equal([
      { start: 0.16, end: 2.399, text: 'hello world' },
      { start: 2.399, end: 4.799, text: 'this is' },
    ]);
  });

  it('that somebody wrote keep the lines that are said twice', () => {
    const said = 'WEBVTT\n\n00:01.000 --> 00:02.000\nNo.\n\n00:02.000 --> 00:03.000\nNo.\n';
    expect(read(said)?.map(({ text }) => text)).to.deep.equal(['No.', 'No.']);
  });

  it('without any cue are subtitles; pages, pictures and other texts are none', () => {
    expect(read('WEBVTT\n')).to.deep.equal([]);
    const others = [
      '',
      'Hello',
      '<!doctype html><html><body><p begin="1s" end="2s">x</p></body></html>',
      '<svg xmlns="http://www.w3.org/2000/svg"><text start="1" dur="1">x</text></svg>',
      '{"error":"no"}',
      '{',
      '#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd',
    ];
    for (const other of others) expect(read(other), other).to.equal(undefined);
  });

  it('leave out times that cannot be, and end no cue early', () => {
    const odd =
      'WEBVTT\n\n00:05.000 --> 00:01.000\nbackwards\n\n999:00:00.000 --> 999:00:01.000\nlate\n\n00:01.000 --> 00:02.000\na\u2028\u2028b --> c\n';
    const cues = read(odd) ?? [];
    expect(cues.map(({ text }) => text)).to.deep.equal(['a\nb --> c']);
    expect(encodeSubtitles(cues, 'vtt').split('-->')).to.have.length(2);
  });

  it('of any bytes are read in time that grows with their number', () => {
    const hostile = ['<', '<p ', '<p t="1" d="1">', '&#', '{\\', '00:01.000 --> ', 'WEBVTT\n\n', '<tt><p begin="1s">'];
    for (const part of hostile) {
      const prefix = part.startsWith('<p') ? '<tt>' : '';
      read(prefix + part.repeat(Math.floor(200_000 / part.length)));
    }
    expect(read('\n00:01.000 --> 00:02.000\na\n'.repeat(100_001))).to.equal(undefined);
  });
});
