/*
 * The controls of the players: a button to play, one to mute, and a slider that shows what is played and plays from
 * another time. They work by keyboard and say what they do to screen readers. Audio has all of them in one bar, in
 * place of the browser's own controls, which stay where audio has no length, as a recording of a browser.
 */

import { clock, element } from '../elements.js';
import { textsOf } from '../texts.js';
import { drawWaveform } from './waveform.js';

const t = textsOf('playground-links');
/** Shorter audio is searched in steps of a tenth of a second. */
const SHORT_S = 20;

/** A browser may refuse to play before the page was used. */
export function play(media: HTMLMediaElement): void {
  media.play().catch(() => undefined);
}

/** A button of the player. @param stateOf Its icon, and what it does. */
export function playerButton(
  stateOf: () => readonly [icon: string, label: string],
  press: () => void,
): [HTMLElement, () => void] {
  const button = element('button', { type: 'button', class: 'player-button' });
  const show = () => {
    const [icon, label] = stateOf();
    button.dataset.icon = icon;
    button.setAttribute('aria-label', label);
  };
  show();
  button.addEventListener('click', press);
  return [button, show];
}

export function playButton(media: HTMLMediaElement): HTMLElement {
  const toggle = () => (media.paused ? play(media) : media.pause());
  const [button, show] = playerButton(() => (media.paused ? ['play', t.play] : ['pause', t.pause]), toggle);
  for (const type of ['play', 'pause'] as const) media.addEventListener(type, show);
  if (media instanceof HTMLVideoElement) media.addEventListener('click', () => !media.controls && toggle());
  return button;
}

export function muteButton(media: HTMLMediaElement): HTMLElement {
  const [button, show] = playerButton(
    () => (media.muted ? ['muted', t.unmute] : ['sound', t.mute]),
    () => {
      media.muted = !media.muted;
    },
  );
  media.addEventListener('volumechange', show);
  return button;
}

/** What a slider moves, by seconds. */
export interface Seekable {
  playFrom(seconds: number): void;
  onTime(listener: (seconds: number) => void): void;
}

/** A slider that shows what is played, and plays from another time. */
export interface SeekBar {
  readonly element: HTMLElement;
  /** Until it is called, the slider has no use. */
  setLength(seconds: number, step: number): void;
}

export function seekBar({ playFrom, onTime }: Seekable): SeekBar {
  const slider = element('input', { type: 'range', min: '0', max: '0', value: '0', disabled: true });
  const shown = element('output', { class: 'figures' });
  let length = 0;
  const show = () => {
    const at = clock(slider.valueAsNumber);
    shown.textContent = length > 0 ? `${at} / ${clock(length)}` : at;
    slider.setAttribute('aria-valuetext', at);
  };
  show();
  // While it is moved, it shows where it is moved to.
  let isMoved = false;
  slider.addEventListener('input', () => {
    isMoved = true;
    show();
  });
  slider.addEventListener('change', () => {
    isMoved = false;
    playFrom(slider.valueAsNumber);
  });
  onTime((played) => {
    if (isMoved) return;
    slider.valueAsNumber = played;
    show();
  });
  const label = element('span', { class: 'visually-hidden' }, t.startAt);
  return {
    element: element('label', { class: 'small player-jump' }, label, slider, shown),
    setLength(seconds, step) {
      length = seconds;
      slider.step = String(step);
      slider.max = String(step < 1 ? seconds : Math.floor(seconds - 1));
      slider.disabled = false;
      show();
    },
  };
}

/** Audio with a bar of controls. @param name What it is, for screen readers. @param sound Drawn above the slider. Default: nothing is. */
export function soundPlayer(audio: HTMLAudioElement, name: string, sound?: Blob): HTMLElement {
  const seek = seekBar({
    playFrom: (seconds) => {
      audio.currentTime = seconds;
    },
    onTime: (listener) => audio.addEventListener('timeupdate', () => listener(audio.currentTime)),
  });
  const bar = element('div', { class: 'player-bar' }, playButton(audio), seek.element, muteButton(audio));
  const player = element('div', { class: 'sound-player', role: 'group', 'aria-label': name }, audio, bar);
  audio.controls = false;
  const slider = seek.element.querySelector('input');
  // Without it, as with audio that cannot be decoded, the slider is plain.
  if (sound && slider) drawWaveform(slider, audio, sound).catch(() => undefined);
  audio.addEventListener('durationchange', () => {
    const { duration } = audio;
    if (Number.isFinite(duration)) return seek.setLength(duration, duration < SHORT_S ? 0.1 : 1);
    bar.remove();
    player.classList.add('sound-player-own');
    audio.controls = true;
  });
  return player;
}
