/*
 * Plays the video of a document, or its MP3 if no file of the video can be played. A file plays from the media link of
 * the gateway, else from the platform. A video that the gateway merges has no length and no ranges while it is sent, so
 * a jump beyond what has arrived begins it anew, and `X-Cut-Start` says where it then begins. What cannot be played here
 * becomes a link to the platform.
 */

import { clock, element, webLink } from '../elements.js';
import { fieldAt, listAt, numberAt, ownAddress, textAt, textsAt } from '../requests.js';
import { fill, textsOf } from '../texts.js';
import { muteButton, play, playButton, playerButton, seekBar, soundPlayer } from './player-controls.js';

const t = textsOf('playground-links');

/** What is played, by the seconds of the item. */
export interface Player {
  readonly element: HTMLElement;
  playFrom(seconds: number): void;
  onTime(listener: (seconds: number) => void): void;
}

export interface PlayerOptions {
  /** Address of a file of the document → its media link, on this origin. */
  links: ReadonlyMap<string, string>;
  /** Address of a picture for the time before. */
  poster: string | undefined;
  /** Name of the platform. */
  platform: string;
  /** Width of the video to its height; undefined if it is not known. */
  ratio: number | undefined;
}

/** The player of a post; undefined if it has nothing to play and is no video. */
export function postPlayer(data: unknown, options: PlayerOptions): Player | { element: HTMLElement } | undefined {
  const offered = textAt(data, 'media.download_links.video');
  const merged = ['mp4', 'webm']
    .map((container) => textAt(data, `media.video_download_links.${container}`))
    .find((address) => address !== undefined && address === offered);
  const src = merged === undefined ? fileOf(data, options.links) : ownAddress(merged);
  const elsewhere = () => openOn(data, options.platform);
  if (src !== undefined) return videoPlayer(data, { src, isMerged: merged !== undefined, elsewhere, ...options });
  const mp3 = textAt(data, 'media.audio_download_links.mp3');
  if (mp3 !== undefined) return audioPlayer(ownAddress(mp3), isVideo(data) ? elsewhere() : undefined);
  return isVideo(data) ? { element: elsewhere() } : undefined;
}

/** A file that a browser of a stranger can load: by a media link, or one that is bound to nothing. */
function fileOf(data: unknown, links: ReadonlyMap<string, string>): string | undefined {
  const bound = new Set(
    listAt(data, 'media.entries').flatMap((entry) =>
      listAt(entry, 'bound_to').length > 0 || textAt(entry, 'kind') === 'manifest' ? (textAt(entry, 'url') ?? []) : [],
    ),
  );
  const videos = textsAt(data, 'media.video_urls').filter((url) => url.startsWith('https:'));
  const chosen = videos.find((url) => links.has(url)) ?? videos.find((url) => !bound.has(url));
  return chosen === undefined ? undefined : (links.get(chosen) ?? chosen);
}

function isVideo(data: unknown): boolean {
  return (
    numberAt(data, 'common.duration_seconds') !== undefined ||
    fieldAt(data, 'common.is_live') === true ||
    textsAt(data, 'media.video_urls').length > 0
  );
}

/** Where it can be played. */
function openOn(data: unknown, platform: string): HTMLElement {
  const link = webLink(textAt(data, 'ids.canonical_url'), fill(t.openOn, { platform }), {
    class: 'button button-quiet',
  });
  return element(
    'div',
    { class: 'row open-on' },
    element('span', { class: 'muted' }, fill(t.playsOnlyOn, { platform })),
    link,
  );
}

interface Source extends PlayerOptions {
  src: string;
  isMerged: boolean;
  elsewhere(): HTMLElement;
}

function videoPlayer(data: unknown, { src, isMerged, poster, ratio, elsewhere }: Source): Player {
  const video = element('video', {
    ...{ src, poster, controls: true, playsinline: true, preload: 'none', 'aria-label': t.video },
  });
  if (ratio !== undefined) video.style.setProperty('--ratio', String(ratio));
  const parts = element('div', {}, video);
  video.addEventListener('error', () => parts.replaceWith(elsewhere()));
  /** Second of the item at which the file that is loaded begins. */
  let offset = 0;

  async function beginAt(seconds: number): Promise<void> {
    const from = `${src}?start=${Math.floor(seconds)}`;
    video.src = from;
    offset = Math.floor(seconds);
    play(video);
    const answer = await fetch(from, { method: 'HEAD' }).catch(() => undefined);
    const begins = answer?.headers.get('x-cut-start');
    if (video.getAttribute('src') === from && begins) offset = Number(begins);
  }

  const playFrom = (seconds: number) => {
    if (isMerged && !hasArrived(video, seconds - offset)) return void beginAt(seconds);
    video.currentTime = Math.max(0, seconds - offset);
    play(video);
  };
  const player: Player = {
    element: parts,
    playFrom,
    onTime: (listener) => video.addEventListener('timeupdate', () => listener(video.currentTime + offset)),
  };
  const length = numberAt(data, 'common.duration_seconds');
  if (isMerged && length !== undefined && length >= 2) {
    // It has no length of its own, so the browser's own slider would say nothing: these controls take its place.
    video.controls = false;
    const seek = seekBar(player);
    seek.setLength(length, 1);
    const buttons = [playButton(video), seek.element, muteButton(video), wideButton(video)];
    // A press on the poster plays, too.
    const cover = element('span', { class: 'player-cover', 'data-icon': 'play', 'aria-hidden': 'true' });
    video.addEventListener('play', () => cover.remove());
    const frame = element('div', { class: 'player-frame' }, video, cover);
    parts.append(frame, element('div', { class: 'player-bar' }, ...buttons));
  }
  return player;
}

function audioPlayer(src: string, note: HTMLElement | undefined): Player {
  const audio = element('audio', { src, preload: 'none' });
  return {
    element: element('div', { class: 'stack-small' }, soundPlayer(audio, t.sound), note),
    playFrom(seconds) {
      audio.currentTime = seconds;
      play(audio);
    },
    onTime: (listener) => audio.addEventListener('timeupdate', () => listener(audio.currentTime)),
  };
}

function hasArrived(media: HTMLMediaElement, seconds: number): boolean {
  const { buffered } = media;
  for (let index = 0; index < buffered.length; index += 1) {
    if (buffered.start(index) <= seconds && seconds < buffered.end(index)) return true;
  }
  return false;
}

/** The browser's own controls are there while the video fills the screen. */
function wideButton(video: HTMLVideoElement): HTMLElement {
  const [button] = playerButton(
    () => ['screen', t.fullScreen],
    () => void video.requestFullscreen?.().catch(() => undefined),
  );
  video.addEventListener('fullscreenchange', () => {
    video.controls = document.fullscreenElement === video;
  });
  return button;
}

/** A button with a time and what is there. */
export function timedButton(seconds: number, words: string | Node, press: () => void): HTMLElement {
  const button = element(
    'button',
    { type: 'button', class: 'timed-button' },
    element('span', { class: 'figures muted' }, clock(seconds)),
    element('span', {}, words),
  );
  button.addEventListener('click', press);
  return button;
}
