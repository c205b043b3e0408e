/** The container of an audio file by its first bytes. */

import { expect } from 'chai';
import { type Container, sniffContainer } from '../../../core/media/containers.js';

const bytes = (text: string) => Buffer.from(text.padEnd(64, '\0'), 'latin1');

describe('container of an audio file, by its first bytes', () => {
  const known: readonly (readonly [Container, Uint8Array])[] = [
    ['mov', bytes('\0\0\0\x20ftypisom')],
    ['mov', bytes('\0\0\x12\x34moov')],
    ['mov', bytes('\0\0\0\x08wide\0\0\0\x08mdat')],
    ['matroska', bytes('\x1a\x45\xdf\xa3\x9f\x42\x86\x81')],
    ['ogg', bytes('OggS\0\x02')],
    ['flac', bytes('fLaC\0\0\0\x22')],
    ['wav', bytes('RIFF\x24\0\0\0WAVEfmt ')],
    ['mp3', bytes('\xff\xfb\x90\x64')],
    ['mp3', bytes('ID3\x04\0\0\0\0\0\x0a          \xff\xfb\x90\x64')],
    ['mp3', bytes('ID3\x04\0\0\0\0\x7f\x7f')],
    ['aac', bytes('\xff\xf1\x50\x80')],
    ['aac', bytes('ID3\x04\0\0\0\0\0\x0a          \xff\xf1\x50\x80')],
    ['mpeg', bytes('\0\0\x01\xba\x44\0\x04\0\x04\x01')],
    ['mpegts', Buffer.concat([0, 1, 2].map(() => Buffer.alloc(188, '\x47'.padEnd(188, '\0'), 'latin1')))],
  ];
  for (const [container, head] of known) {
    it(`${container}: ${JSON.stringify(Buffer.from(head).toString('latin1', 0, 8))}`, () => {
      expect(sniffContainer(head)).to.equal(container);
      expect(sniffContainer(Buffer.concat([Buffer.alloc(3), head]).subarray(3)), 'at any offset').to.equal(container);
    });
  }

  it('is unknown for playlists, and for too few bytes', () => {
    const refused = [
      '#EXTM3U\n#EXT-X-TARGETDURATION:1\nhttp://127.0.0.1/a.ts',
      '\ufeff#EXTM3U\n',
      'ffconcat version 1.0\nfile /etc/passwd',
      '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011">',
      'v=0\no=- 0 0 IN IP4 127.0.0.1\nm=audio 5004 RTP/AVP 0',
      '<!doctype html><title>Log in</title>',
      '{"error":"gone"}',
      'RIFF\x24\0\0\0AVI LIST',
      '\0\0\0\0ftypisom',
      'FLV\x01\x05',
      'G#EXTM3U and nothing else that is a packet',
      '\xff\xe8\x00\x00',
    ];
    for (const text of refused) expect(sniffContainer(bytes(text)), text).to.equal(undefined);
    for (const text of ['', 'Ogg', '\xff\xfb\x90'])
      expect(sniffContainer(Buffer.from(text, 'latin1'))).to.equal(undefined);
  });
});
