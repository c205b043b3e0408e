/*
 * Records with the microphone. A button starts and ends the recording, which becomes a file like one that was chosen. A
 * refused permission, a missing microphone and a page without https are explained. A recording ends after ten minutes.
 */

import { clock, showProblem } from '../elements.js';
import { fill, textsOf } from '../texts.js';
import type { FileDrop } from '../work.js';

const t = textsOf('playground-audio');
const MAX_MS = 600_000;
const TICK_MS = 250;
/** In order of preference; Safari has the last one. */
const TYPES = ['audio/webm;codecs=opus', 'audio/ogg;codecs=opus', 'audio/mp4'] as const;
const ENDINGS: Readonly<Record<string, string>> = { 'audio/webm': 'webm', 'audio/ogg': 'ogg', 'audio/mp4': 'm4a' };

export interface RecorderElements {
  button: HTMLButtonElement;
  /** Shows how long the recording is. */
  time: HTMLElement;
  /** Shows errors. */
  problem: Element | null;
}

let recordings = 0;

/** Adds each recording to the files. */
export function startRecorder({ button, time, problem }: RecorderElements, files: FileDrop): void {
  let recorder: MediaRecorder | undefined;
  let isStarting = false;

  async function begin(): Promise<void> {
    const stream = await openMicrophone();
    const chunks: Blob[] = [];
    const mimeType = TYPES.find((type) => MediaRecorder.isTypeSupported(type));
    const current = new MediaRecorder(stream, { mimeType });
    recorder = current;
    const startedAt = Date.now();
    const tick = () => {
      time.textContent = `${t.recordingNow} ${clock((Date.now() - startedAt) / 1_000)}`;
      if (Date.now() - startedAt > MAX_MS) current.stop();
    };
    const timer = setInterval(tick, TICK_MS);
    current.addEventListener('dataavailable', ({ data }) => chunks.push(data));
    current.addEventListener('stop', () => {
      clearInterval(timer);
      for (const track of stream.getTracks()) track.stop();
      recorder = undefined;
      show(false);
      if (chunks.some(({ size }) => size > 0)) files.add([fileOf(chunks, current.mimeType)]);
    });
    current.start();
    show(true);
    tick();
  }

  function show(isRecording: boolean): void {
    button.setAttribute('aria-pressed', String(isRecording));
    button.textContent = isRecording ? t.stopRecording : t.record;
    if (!isRecording) time.textContent = '';
  }

  button.addEventListener('click', async () => {
    showProblem(problem);
    if (recorder) return recorder.stop();
    if (isStarting) return;
    isStarting = true;
    try {
      await begin();
    } catch (error) {
      showProblem(problem, new Error(wordsOf(error)));
    } finally {
      isStarting = false;
    }
  });
}

function openMicrophone(): Promise<MediaStream> {
  // Pages without https have no microphone.
  if (!navigator.mediaDevices || typeof MediaRecorder === 'undefined') throw new Error(t.microphoneInsecure);
  return navigator.mediaDevices.getUserMedia({ audio: true });
}

function wordsOf(error: unknown): string {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  if (message === t.microphoneInsecure) return message;
  if (name === 'NotAllowedError' || name === 'SecurityError') return t.microphoneRefused;
  if (name === 'NotFoundError' || name === 'OverconstrainedError') return t.microphoneMissing;
  return t.microphoneBusy;
}

function fileOf(chunks: readonly Blob[], mimeType: string): File {
  recordings += 1;
  const type = mimeType.split(';')[0] ?? '';
  const name = `${fill(t.recordingName, { number: recordings })}.${ENDINGS[type] ?? 'webm'}`;
  return new File([...chunks], name, { type });
}
