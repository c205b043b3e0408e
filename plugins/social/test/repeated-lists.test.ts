/** Lists that every query result of the social network repeats. */

import { expect } from 'chai';
import { createListShortener, readRelayPage } from '../read/relay.js';

const MARKER = 'RelayPrefetchedStreamCache';

function script(data: object, list: unknown): string {
  const result = { data, extensions: { all_video_dash_prefetch_representations: list, is_final: true } };
  return JSON.stringify({ require: [[MARKER, 'next', [], ['adp_X', { __bbox: { result } }]]] });
}

describe('social lists that every result repeats', () => {
  const list = [{ video_id: '417', representations: [{ base_url: 'https://a.example/[1]' }, { base_url: '"]' }] }];

  it('are read once, and the results around them completely', () => {
    const page = readRelayPage([script({ id: '417' }, list), script({ count: 3 }, list)], MARKER);
    expect(page(['417'])).to.deep.equal([
      { data: { id: '417' }, extensions: { all_video_dash_prefetch_representations: list, is_final: true } },
      { data: { count: 3 }, extensions: { all_video_dash_prefetch_representations: [], is_final: true } },
    ]);
  });

  it('are read again if they differ in one character', () => {
    const shorten = createListShortener();
    const other = [{ ...list[0], video_id: '418' }];
    for (const text of [script({}, list), script({}, other), script({}, [...list, ...list])]) {
      expect(shorten(text)).to.equal(text);
      expect(shorten(text)).to.have.lengthOf.below(text.length);
    }
  });

  it('are left alone if the text is cut', () => {
    const text = script({}, list);
    const shorten = createListShortener();
    const cut = text.slice(0, text.indexOf('base_url'));
    expect(shorten(cut)).to.equal(cut);
    expect(shorten(text)).to.equal(text);
  });
});
