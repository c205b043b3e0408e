/** What the notes of a document mean, in sentences for people. */

import { expect } from 'chai';
import { describeLimitation, LIMITATIONS } from '../../../core/extraction/limitation-messages.js';
import { ERROR_CODES, ERRORS, isDefinitiveCode } from '../../../core/runtime/index.js';
import { limitationFor } from '../../../plugins/vidsite/read/outcomes.js';

describe('messages of limitations', () => {
  for (const [note, expected] of [
    ['metadata_only', { code: 'metadata_only', message: 'No media file was found.' }],
    [
      'stats_rounded: likes, views',
      { code: 'stats_rounded', message: 'The platform shows only a short form of these counters: likes, views.' },
    ],
    ['partial', { code: 'partial', message: 'Fields may be missing, because not all sources answered.' }],
    [
      'partial: page, api',
      { code: 'partial', message: 'Fields may be missing, because a source did not answer (page, api).' },
    ],
    [
      'max_comments_ignored: the platform has no such option',
      {
        code: 'max_comments_ignored',
        message: 'The option max_comments was ignored: the platform has no such option.',
      },
    ],
    [
      'stats_rounded: comments, subscriber_count',
      {
        code: 'stats_rounded',
        message: 'The platform shows only a short form of these counters: comments, subscribers.',
      },
    ],
    [
      'transcript_unavailable: no subtitles, and speech recognition failed: audio_unavailable',
      {
        code: 'transcript_unavailable',
        message: `There is no transcript: no subtitles, and speech recognition failed. ${ERRORS.audio_unavailable.meaning}`,
      },
    ],
    ['of_another_plugin', { code: 'of_another_plugin', message: 'Of another plugin.' }],
    ['half_read: 3 of 6', { code: 'half_read', message: 'Half read: 3 of 6.' }],
    ['constructor', { code: 'constructor', message: 'Constructor.' }],
  ] as const) {
    it(`describes ${note}`, () => {
      expect(describeLimitation(note)).to.deep.equal(expected);
    });
  }

  it('has a sentence for every refusal that comes with a document', () => {
    // A link that leads to no item has no document.
    const withoutItem = ['short_link_dead', 'redirected_to_unsupported'];
    const refusals = ERROR_CODES.filter(isDefinitiveCode)
      .filter((code) => !withoutItem.includes(code))
      .map(limitationFor);
    expect(refusals.filter((code) => !(code in LIMITATIONS))).to.deep.equal([]);
  });

  it('shows no underscore of a word in a sentence', () => {
    const messages = Object.entries(LIMITATIONS).map(
      ([code, { example = code }]) => describeLimitation(example).message,
    );
    expect(messages.filter((message) => message.includes('_'))).to.deep.equal([]);
  });
});
