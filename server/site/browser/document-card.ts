import { documentHead, gallery, longText } from './document-parts.js';
import { element, webLink } from './elements.js';
import { amount, bytes, clock, whole } from './figures.js';
import { listAt, member, numberAt, textAt, textsAt } from './json-members.js';
import { ownAddress } from './play-request.js';
import { productParts } from './product-card.js';

/** What an answer of the extraction route says, as people read it. */
export function documentCard(answer: unknown): HTMLElement {
  const data = member(answer, 'data');
  const parts = member(data, 'product') ? productParts(data) : postParts(data);
  return element('article', { class: 'card document' }, ...parts);
}

const METRICS = [
  ['views', 'Views'],
  ['plays', 'Plays'],
  ['likes', 'Likes'],
  ['comments', 'Comments'],
  ['shares', 'Shares'],
  ['saves', 'Saves'],
  ['subscriber_count', 'Subscribers'],
] as const;

function postParts(data: unknown): (HTMLElement | false)[] {
  const thumbnail = textAt(data, 'common.thumbnail') ?? textsAt(data, 'media.image_urls')[0];
  return [
    documentHead(thumbnail, postWords(data)),
    postMetrics(data),
    videoPlayer(data),
    mp3Player(data),
    gallery(textsAt(data, 'media.image_urls')),
    downloads(data),
  ];
}

function postWords(data: unknown): HTMLElement[] {
  const title = textAt(data, 'common.title');
  const url = textAt(data, 'ids.canonical_url');
  const author = textAt(data, 'common.author.name') ?? textAt(data, 'common.author.username');
  const text = textAt(data, 'common.description') ?? textAt(data, 'common.caption');
  const seconds = numberAt(data, 'common.duration_seconds');
  const publishedAt = textAt(data, 'common.published_at');
  const facts = [seconds !== undefined && clock(seconds), publishedAt?.slice(0, 10)].filter((fact) => !!fact);
  return [
    element('h3', {}, webLink(url, title ?? 'Untitled')),
    ...(author === undefined ? [] : [element('p', {}, 'By ', webLink(textAt(data, 'common.author.url'), author))]),
    ...(facts.length === 0 ? [] : [element('p', { class: 'small muted figures' }, facts.join(' · '))]),
    ...(text === undefined || text === title ? [] : [longText(text)]),
  ];
}

function postMetrics(data: unknown): HTMLElement | false {
  const shown = METRICS.flatMap(([name, label]) => {
    const value = numberAt(data, `metrics.${name}`);
    const rounded = textAt(data, `provenance.precision.${name}`) === 'rounded';
    return value === undefined
      ? []
      : [element('div', {}, element('dt', {}, label), element('dd', {}, `${rounded ? 'about ' : ''}${whole(value)}`))];
  });
  return shown.length > 0 && element('dl', { class: 'metrics', 'aria-label': 'Numbers' }, ...shown);
}

function videoPlayer(data: unknown): HTMLElement | false {
  const src = textsAt(data, 'media.video_urls').find((url) => url.startsWith('https:'));
  if (src === undefined) return false;
  const player = element('video', { src, controls: true, preload: 'none', 'aria-label': 'Video', playsinline: true });
  player.addEventListener('error', () => {
    player.replaceWith(element('p', { class: 'small muted' }, 'The platform plays this video on its own pages only.'));
  });
  return player;
}

function mp3Player(data: unknown): HTMLElement | false {
  const url = textAt(data, 'media.audio_download_links.mp3');
  if (url === undefined) return false;
  const own = ownAddress(url);
  return element(
    'div',
    { class: 'stack-small' },
    element('audio', { src: own, controls: true, preload: 'none', 'aria-label': 'MP3 of the video' }),
    element('a', { href: own, download: true, class: 'small' }, 'Download the MP3'),
  );
}

function downloads(data: unknown): HTMLElement | false {
  const entries = listAt(data, 'media.entries');
  if (entries.length === 0) return false;
  return element(
    'details',
    {},
    element('summary', {}, `Media files (${entries.length})`),
    element('ul', { class: 'downloads' }, ...entries.map(download)),
  );
}

function download(entry: unknown): HTMLElement {
  const [width, height, size] = ['width', 'height', 'size'].map((name) => numberAt(entry, name));
  const facts = [
    textAt(entry, 'mime'),
    width !== undefined && height !== undefined && `${width} × ${height}`,
    size !== undefined && bytes(size),
    numberAt(entry, 'bitrate') !== undefined && `${amount((numberAt(entry, 'bitrate') ?? 0) / 1_000)} kbit/s`,
    textAt(entry, 'language'),
  ].filter((fact) => !!fact);
  const name = textAt(entry, 'quality') ?? textAt(entry, 'label');
  const kind = textAt(entry, 'kind') ?? 'file';
  return element(
    'li',
    {},
    webLink(textAt(entry, 'url'), [kind, name].filter((part) => part !== undefined).join(', ')),
    element('span', { class: 'small muted figures' }, facts.join(' · ')),
  );
}
