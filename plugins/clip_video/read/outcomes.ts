/*
 * Says what each reply means: the item, a final state such as private or removed, or a transient failure. One status
 * number has several meanings, so that words of the message decide before the number, unless the number is precise. A
 * reply about another item never counts. An embedded player that shows nothing is no proof of removal. A page that is
 * neither an item nor a state is classified by its markers: a challenge, a captcha, unreadable data, or another page.
 */

import {
  absoluteUrl,
  asArray,
  asId,
  asPositive,
  asString,
  at,
  type Failure,
  type Outcome,
  type PartialPost,
  type TransientCode,
} from 'mediagate/plugin';
import { hasFiles, isReadable } from '../assemble.js';
import { restricted, type SiteConfig } from '../fetch.js';
import { coverEntry } from './files.js';
import { parseItem, parsePlayerItem, parseVideoData, postOfSummary } from './item.js';
import { parseVideoObject } from './older/pages.js';
import { isItem, type PageReading, type PageState, readPageNodes } from './page.js';
import { parsePageTags } from './page-tags.js';

type ClipOutcome = Outcome<PartialPost>;

const OTHER_ITEM = transient('upstream_refused', 'the answer was about another item');

/** The outcome of an item's page. Despite a restriction, other methods may show the item. */
export function outcomeOfPage(html: string, id: string, siteConfig: SiteConfig): ClipOutcome {
  const reading = readPageNodes(html, id);
  const item = reading.items.find((node) => isItem(node, id));
  if (item) return outcomeOfItem(item, id);
  const data = reading.videoData.find((node) => asId(at(node, 'itemInfos', 'id')) === id);
  if (data) return { kind: 'found', found: parseVideoData(data, id) };
  const [state] = reading.states;
  if (state) return readState(state, siteConfig);
  if (reading.items.length > 0 || reading.videoData.length > 0) return OTHER_ITEM;
  const tags = html.includes(id) ? (parseVideoObject(html, id) ?? parsePageTags(html, id)) : undefined;
  if (tags) return { kind: 'found', found: tags, limitations: ['fallback_source: page_tags'] };
  return classify(html, reading, siteConfig);
}

function outcomeOfItem(item: unknown, id: string): ClipOutcome {
  const post = parseItem(item, id);
  const limitations = at(item, 'itemMute') === true ? ['no_audio_track'] : [];
  if (at(item, 'isContentClassified') !== true || hasFiles(post.media?.entries)) {
    return { kind: 'found', found: post, limitations };
  }
  // The page shows the files to signed-in adults only, and the rest to everyone.
  if (!isReadable(post)) return restricted('age_restricted', 'the page shows the item to signed-in adults only');
  return { kind: 'found', found: post, limitations: [...limitations, 'age_restricted'] };
}

/** The outcome of a page without the item or a state. */
function classify(html: string, { scripts }: PageReading, { markers }: SiteConfig): ClipOutcome {
  const has = (marks: readonly string[]) => marks.some((mark) => html.includes(mark));
  if (scripts === 'read') return transient('upstream_refused', 'a page without the item in the place of the item’s');
  if (scripts === 'unreadable') return transient('upstream_changed', 'the page’s data could not be read');
  if (has(markers.challenge)) return transient('bot_check', 'a challenge in the place of the page');
  if (has(markers.captcha)) return transient('bot_check', 'a captcha in the place of the page');
  return transient('upstream_refused', 'another page in the place of the item’s');
}

function transient(code: TransientCode, reason: string): Failure {
  return { kind: 'transient', code, reason };
}

/**
 * The outcome of the embedded player's page. If it shows nothing, the item is removed, private or not to be embedded, and
 * the page does not say which: that is no sign of removal.
 */
export function outcomeOfEmbed(html: string, id: string, siteConfig: SiteConfig): ClipOutcome {
  const outcome = outcomeOfPage(html, id, siteConfig);
  if (outcome.kind === 'transient' && !outcome.cause && /"isError"\s*:\s*true/.test(html)) {
    return transient('upstream_refused', 'the embedded player does not show the item');
  }
  return outcome;
}

/** The outcome of the reply of the embedded player's API. */
export function outcomeOfPlayer(reply: unknown, id: string, siteConfig: SiteConfig): ClipOutcome {
  const items = asArray(at(reply, 'items')) ?? [];
  const item = items.find((one) => asId(at(one, 'id_str')) === id);
  if (item) return { kind: 'found', found: parsePlayerItem(item, id) };
  if (items.length > 0) return OTHER_ITEM;
  const result = (asArray(at(reply, 'results')) ?? []).find((one) => asId(at(one, 'id_str')) === id);
  const written = at(result, 'code');
  const message = typeof written === 'number' ? String(written) : asString(written);
  if (message === undefined) return transient('upstream_changed', 'no item in the answer');
  const numbered = /^-?\d+$/.test(message) ? readState({ code: message }, siteConfig) : undefined;
  if (numbered?.kind === 'definitive') return numbered;
  const code = stateInWords(message, siteConfig);
  if (code) return { kind: 'definitive', code, reason: message };
  return transient('upstream_refused', message);
}

/** The outcome of the oEmbed reply, in which every id must be the requested item's. */
export function outcomeOfOembed(reply: unknown, id: string): ClipOutcome {
  const html = asString(at(reply, 'html')) ?? '';
  const stated = [
    asId(/data-video-id="(\d+)"/.exec(html)?.[1]),
    asId(/\bcite="[^"]*\/(?:video|photo)\/(\d+)/.exec(html)?.[1]),
    asId(at(reply, 'embed_product_id')),
  ].filter((value) => value !== undefined);
  if (stated.length === 0 || stated.some((value) => value !== id)) {
    return transient('upstream_refused', 'the oEmbed answer was not about the item');
  }
  const thumbnail = absoluteUrl(at(reply, 'thumbnail_url'));
  const post = postOfSummary({
    id,
    caption: asString(at(reply, 'title'))?.trim() || undefined,
    name: asString(at(reply, 'author_name')),
    handle: at(reply, 'author_unique_id'),
    address: absoluteUrl(at(reply, 'author_url')),
    thumbnail,
  });
  const width = asPositive(at(reply, 'thumbnail_width'));
  const height = asPositive(at(reply, 'thumbnail_height'));
  const entries = thumbnail ? [{ ...coverEntry(thumbnail), width, height }] : [];
  return { kind: 'found', found: { ...post, media: { ...post.media, entries } } };
}

const DEFINITIVE = ['under_review', 'private', 'geo_blocked', 'age_restricted', 'removed', 'unavailable'] as const;
const TRANSIENT = ['bot_check', 'upstream_refused', 'upstream_rate_limited'] as const;

/**
 * The meaning of a status code and its message. One number has several meanings (a private item may be reported as
 * missing), so the words of the message come first.
 */
export function readState({ code, message }: PageState, siteConfig: SiteConfig): Failure {
  const reason = message ? `${message} (${code})` : `status ${code}`;
  const has = (name: keyof SiteConfig['states']) => siteConfig.states[name].includes(code);
  if (has('login_required')) return restricted('login_required', reason);
  const refused = TRANSIENT.find(has);
  if (refused) return transient(refused, reason);
  const numbered = DEFINITIVE.find(has);
  // A number with a more precise meaning than "missing" needs no words.
  const isPrecise = numbered !== undefined && numbered !== 'removed' && numbered !== 'unavailable';
  const state = isPrecise ? numbered : (stateInWords(message, siteConfig) ?? numbered);
  return state ? { kind: 'definitive', code: state, reason } : restricted('upstream_error', reason);
}

/** The state that a message of the site names in its own terms. */
function stateInWords(message: string | undefined, { words }: SiteConfig): (typeof DEFINITIVE)[number] | undefined {
  const spaced = (text: string) => text.replaceAll('_', ' ');
  const text = spaced(message?.toLowerCase() ?? '');
  return text ? DEFINITIVE.find((state) => words[state].some((word) => text.includes(spaced(word)))) : undefined;
}
