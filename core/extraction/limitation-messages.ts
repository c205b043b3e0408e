/*
 * What the notes of a document's `limitations` mean, in a sentence for the person who reads the document. A note is a
 * stable word, some with a colon and details (`stats_rounded: likes, views`); the words of all plugins of this
 * repository are in one table, from which the documentation's is made. A word that is not in it, of another plugin, is
 * shown with spaces for its underscores.
 */

import { ERRORS, type ErrorCode } from '../runtime/index.js';

/** One note in the words of the API and in those of a person. */
export interface LimitationMessage {
  /** The stable word, without details. */
  code: string;
  /** One or two sentences, with the details of the note. */
  message: string;
}

interface Limitation {
  message: string | ((details: string) => string);
  /** A note with details, for the documentation. Default: none are added. */
  example?: string;
}

const WITHOUT_FILES = 'The data is complete, but there are no media files';

/** By the word of the note. */
export const LIMITATIONS: Readonly<Record<string, Limitation>> = {
  metadata_only: { message: 'No media file was found.' },
  partial: {
    message: (methods) =>
      `Fields may be missing, because ${methods ? `a source did not answer (${methods})` : 'not all sources answered'}.`,
    example: 'partial: page',
  },
  fallback_source: {
    message: (source) => `The usual source did not answer. Another one with fewer fields did (${source}).`,
    example: 'fallback_source: oembed',
  },
  stale_cache: {
    message: (age) => `The platform cannot be reached now. This is an earlier document, ${age}.`,
    example: 'stale_cache: 5400 seconds old',
  },
  stats_rounded: {
    message: (counters) => `The platform shows only a short form of these counters: ${countersOf(counters)}.`,
    example: 'stats_rounded: comments',
  },
  stats_hidden: {
    message: (counters) => `The owner hides these counters: ${countersOf(counters)}.`,
    example: 'stats_hidden: likes',
  },
  stats_not_shown: { message: 'The page of the item shows no counters.' },
  live_now: { message: 'This is a live stream that runs now. It can be downloaded when it has ended.' },
  live_upcoming: { message: 'This live stream has been announced and has not started.' },
  live_offline: { message: 'This live stream is offline.' },
  age_restricted: { message: `${WITHOUT_FILES}: the platform shows them only to adults who have signed in.` },
  geo_blocked: { message: `${WITHOUT_FILES}: the item cannot be watched in the country of this gateway.` },
  members_only: { message: `${WITHOUT_FILES}: they are for members of the channel.` },
  paid: { message: `${WITHOUT_FILES}: they have to be bought.` },
  login_required: { message: `${WITHOUT_FILES}: the platform shows them only to visitors who have signed in.` },
  private: { message: `${WITHOUT_FILES}: the owner shows them to chosen people.` },
  password_protected: { message: `${WITHOUT_FILES}: the platform asks for a password.` },
  unplayable: { message: `${WITHOUT_FILES}: the platform no longer plays the item.` },
  processing: { message: `${WITHOUT_FILES}: the platform still processes the item. Try again later.` },
  media_refused: { message: `${WITHOUT_FILES}: the platform refuses them to this gateway now. Try again later.` },
  media_login_only: { message: 'The platform shows the files only to visitors who have signed in.' },
  media_ip_bound: { message: 'The addresses of the files work only from this gateway. Use its media links.' },
  media_cookie_bound: {
    message:
      'The addresses of the files work only with the cookies of this visit. Use the media links of this gateway.',
  },
  media_separate_tracks: { message: 'Picture and sound are separate files.' },
  media_unverified: {
    message: (count) => `Some media files could not be fetched when they were asked for: ${count}.`,
    example: 'media_unverified: 1 of 3',
  },
  media_not_all_verified: {
    message: (count) => `Only the first media files were verified: ${count}.`,
    example: 'media_not_all_verified: 12 of 20',
  },
  media_ciphered: { message: 'Some files have no usable address.' },
  sabr_only: { message: "The files can be played only in the platform's own player." },
  drm: { message: 'The files are copy-protected and can be played only on the platform.' },
  subtitles_withheld: { message: 'The platform gives the subtitles only to its own player.' },
  transcript_unavailable: {
    message: (reason) => `There is no transcript: ${explained(reason)}.`,
    example: 'transcript_unavailable: there are no captions',
  },
  transcript_pending: {
    message: (reason) => `The transcript is not ready: ${reason}.`,
    example: 'transcript_pending: speech is being recognised',
  },
  transcript_language: {
    message: (language) => `The transcript is in another language than those asked for: ${language}.`,
    example: 'transcript_language: en',
  },
  no_audio_track: { message: 'The video has no sound.' },
  mp3_unavailable: { message: 'No MP3 can be made of this item.' },
  carousel_truncated: {
    message: (count) => `The platform shows only some of the pictures${count && ` (${count})`}.`,
    example: 'carousel_truncated: 5 of 8',
  },
  caption_truncated: { message: 'The platform shows only the beginning of the text.' },
  published_at_day_only: { message: 'The platform shows the day of publication without the time.' },
  masked_price: { message: 'The shop hides a part of the price.' },
  not_for_sale: { message: 'The product is no longer sold.' },
  reviews_partial: {
    message: (count) => `Not all requested reviews were found${count && `: ${count}`}.`,
    example: 'reviews_partial: 12 of 40',
  },
  reviews_from_page: { message: 'The reviews are those that the page of the product shows, not the latest ones.' },
};

/** Fields of `metrics` as words: `comments, subscriber_count` → `comments, subscribers`. */
function countersOf(fields: string): string {
  return fields.replaceAll('sold_count', 'sold').replaceAll('_count', 's').replaceAll('_', ' ');
}

/** A reason that ends with the code of an error, with the meaning of the error in its place. */
function explained(reason: string): string {
  const [, words, code = ''] = /^(.*): ([a-z_]+)$/.exec(reason) ?? [];
  if (words === undefined || !Object.hasOwn(ERRORS, code)) return reason;
  return `${words}. ${ERRORS[code as ErrorCode].meaning.replace(/\.$/, '')}`;
}

/** The ending of notes about fields of a request that have no effect. */
const IGNORED = '_ignored';

/** @param note As in `limitations`. */
export function describeLimitation(note: string): LimitationMessage {
  const colon = note.indexOf(': ');
  const [code, details] = colon < 0 ? [note, ''] : [note.slice(0, colon), note.slice(colon + 2)];
  const { message } = Object.hasOwn(LIMITATIONS, code) ? (LIMITATIONS[code] as Limitation) : otherwise(code);
  return { code, message: typeof message === 'string' ? message : message(details) };
}

function otherwise(code: string): Limitation {
  if (code.endsWith(IGNORED)) {
    const field = code.slice(0, -IGNORED.length);
    return { message: (reason) => `The option ${field} was ignored${reason && `: ${reason}`}.` };
  }
  const words = code.replaceAll('_', ' ');
  const sentence = words.charAt(0).toUpperCase() + words.slice(1);
  return { message: (details) => (details ? `${sentence}: ${details}.` : `${sentence}.`) };
}
