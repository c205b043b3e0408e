/*
 * Plays the video of a document. A file plays from the media link of the gateway, else from the platform. A video that
 * the gateway merges has no length and no ranges while it is sent, so a slider begins it anew at another time. A video
 * that cannot be played becomes a sentence, and one of the gateway can be saved.
 */

import { clock, element } from './elements.js';
import { numberAt, ownAddress, textAt, textsAt } from './requests.js';

/** @param links Address of a file of the document → its media link, on this origin. */
export function videoPlayer(data: unknown, links: ReadonlyMap<string, string>): HTMLElement | false {
  const offered = textAt(data, 'media.download_links.video');
  const merged = ['mp4', 'webm']
    .map((container) => textAt(data, `media.video_download_links.${container}`))
    .find((address) => address !== undefined && address === offered);
  const src = merged === undefined ? fileOf(data, links) : ownAddress(merged);
  if (src === undefined) return false;
  const player = element('video', { src, controls: true, preload: 'none', 'aria-label': 'Video', playsinline: true });
  const parts = element('div', { class: 'stack-small' }, player);
  player.addEventListener('error', () => {
    parts.replaceWith(element('p', { class: 'small muted' }, 'The platform plays this video on its own pages only.'));
  });
  const seconds = numberAt(data, 'common.duration_seconds');
  if (merged !== undefined && seconds !== undefined && seconds >= 2) parts.append(jumps(player, src, seconds));
  const saved = offered === undefined ? undefined : ownAddress(offered);
  if (saved?.startsWith('/v1/')) {
    const href = `${saved}?download=1`;
    parts.append(element('a', { href, download: true, class: 'small' }, 'Download the video'));
  }
  return parts;
}

function fileOf(data: unknown, links: ReadonlyMap<string, string>): string | undefined {
  const videos = textsAt(data, 'media.video_urls').filter((url) => url.startsWith('https:'));
  const chosen = videos.find((url) => links.has(url)) ?? videos[0];
  return chosen === undefined ? undefined : (links.get(chosen) ?? chosen);
}

/** A slider that plays from another time. */
function jumps(player: HTMLVideoElement, src: string, seconds: number): HTMLElement {
  const last = Math.floor(seconds - 1);
  const slider = element('input', { type: 'range', min: '0', max: String(last), value: '0', step: '1' });
  const shown = element('output', { class: 'figures' }, clock(0));
  slider.addEventListener('input', () => {
    shown.textContent = clock(slider.valueAsNumber);
  });
  slider.addEventListener('change', () => {
    player.src = `${src}?start=${slider.valueAsNumber}`;
    // A browser may refuse to play before the page was used.
    player.play().catch(() => undefined);
  });
  return element('label', { class: 'small' }, 'Start at ', slider, ' ', shown);
}
