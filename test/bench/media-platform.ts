/*
 * The platform of the media benchmark: its items name files of an origin on this machine. The first digit of an item
 * says which; the others make items of the same files, so that each can have a link of its own.
 */

import { definePlugin, type MediaEntry, Type } from 'mediagate/plugin';
import { inventedExtraction, inventedExtractor } from '../support/links/invented-plugin.js';

/** Files of the items that begin with a digit. */
export const FILES = {
  /** One file, which is sent as it is. */
  1: ['file.mp4'],
  /** Picture and sound apart. */
  2: ['picture.mp4', 'sound.mp4'],
  /** A playlist with both. */
  3: ['list.m3u8'],
  /** As 2, of two hours. */
  4: ['long-picture.mp4', 'long-sound.mp4'],
  /** A file with both, of two hours. */
  5: ['long.mp4'],
} as const;

export default definePlugin({
  name: 'media-bench',
  apiVersion: 1,
  summary: 'An invented platform with files on this machine.',
  provides: ['extractor'],
  options: Type.Object({
    origin: Type.String(),
    /** Bytes of files by their names. */
    sizes: Type.Record(Type.String(), Type.Number()),
  }),
  setup({ options: { origin, sizes } }) {
    const entryOf = (name: string): MediaEntry => ({
      url: `${origin}/${name}`,
      ...(name.endsWith('.m3u8')
        ? { kind: 'manifest', mime: 'application/vnd.apple.mpegurl' }
        : {
            kind: name.includes('sound') ? 'audio' : 'video',
            mime: name.includes('sound') ? 'audio/mp4' : 'video/mp4',
          }),
      ...(name.includes('picture') && { has_audio: false }),
      ...(sizes[name] !== undefined && { size: sizes[name] }),
    });
    const extractor = inventedExtractor({
      mediaHosts: ['127.0.0.1'],
      extract: async ({ link: { id } }) => {
        const plain = inventedExtraction(id);
        const names = FILES[Number(id[0]) as keyof typeof FILES];
        if ('product' in plain.data || !names) throw new Error('there is no such item');
        return { ...plain, data: { ...plain.data, media: { ...plain.data.media, entries: names.map(entryOf) } } };
      },
    });
    return { extractors: [extractor] };
  },
});
