/** Benchmark of offline speech: seconds of CPU for each second of audio, and word errors. */

import { openOfflineSpeech, SPEECH_RATE } from '../support/audio/offline-speech.js';
import { countWordErrors } from '../support/audio/word-errors.js';
import { type Figure, median } from './measure.js';

const SENTENCES = [
  'The harbor pilot waited for the morning tide.',
  'We counted seven white boats beside the old pier.',
  'Please leave the package with the neighbor upstairs.',
  'A cold wind came down from the northern hills.',
  'The library closes early on Friday afternoons.',
  'She painted the kitchen door a very dark green.',
  'Every train was late because of the heavy snow.',
  'He keeps his tools in a wooden box under the stairs.',
  'The teacher asked them to open the window.',
  'Nobody could remember who had planted the apple trees.',
  'They walked along the river until the sun went down.',
  'The engine stopped twice before we reached the village.',
  'My sister bought three lemons and a loaf of bread.',
  'The new bridge will be finished before next summer.',
  'It is better to ask a question than to make a mistake.',
  'The children found a small turtle near the water.',
  'Turn left at the bakery and follow the narrow street.',
  'The doctor said that the wound was healing well.',
  'A quiet voice answered from the other room.',
  'Two hundred people came to listen to the orchestra.',
];
const VOICES = ['rms', 'awb', 'slt', 'kal'];
const CLIP_SECONDS = 10;
const ROUNDS = 5;
const CALLS = 100;
const TARGET_ERRORS = 0.1;
const TARGET_SECONDS = 5;
const TARGET_MEGABYTES = 60;

/** How well the offline engines transcribe their own speech, how long that takes, and what it needs. */
export async function measureSpeech(): Promise<Figure[]> {
  const before = megabytes();
  const speech = await openOfflineSpeech();
  try {
    const voices = new Map<string, number>();
    const all = { errors: 0, words: 0 };
    for (const voice of VOICES) {
      const own = { errors: 0, words: 0 };
      for (const sentence of SENTENCES) {
        const { text } = await speech.transcribe(await speech.speak(sentence, { voice }));
        const { errors, words } = countWordErrors(sentence, text);
        for (const count of [own, all]) {
          count.errors += errors;
          count.words += words;
        }
      }
      voices.set(voice, own.errors / own.words);
    }

    const spoken = await speech.speak(SENTENCES.join(' '));
    const clip = spoken.subarray(0, CLIP_SECONDS * SPEECH_RATE * 2);
    const transcribed = await rounds(async () => void (await speech.transcribe(clip)));
    const sentences = await rounds(async () => void (await speech.speak(SENTENCES.slice(0, 4).join(' '))));

    const settled = megabytes();
    for (let call = 0; call < CALLS; call += 1) {
      await speech.transcribe((await speech.speak('Yes, please.')).subarray(0, SPEECH_RATE * 2));
    }
    const later = megabytes();
    const perVoice = [...voices].map(([voice, rate]) => `${voice} ${percent(rate)}`).join(', ');
    return [
      {
        what: `Words heard wrongly of ${SENTENCES.length} sentences that were spoken and transcribed offline, by voice`,
        measured: `${percent(all.errors / all.words)} (${perVoice})`,
        target: `≤ ${percent(TARGET_ERRORS)}`,
        met: all.errors / all.words <= TARGET_ERRORS,
      },
      {
        what: `A clip of ${CLIP_SECONDS} s transcribed offline (and CPU time for it)`,
        measured: `${transcribed.wall.toFixed(1)} s (${transcribed.cpu.toFixed(1)} s)`,
        target: `≤ ${TARGET_SECONDS} s`,
        met: transcribed.wall <= TARGET_SECONDS,
      },
      {
        what: `Four sentences, about ${CLIP_SECONDS} s, spoken offline (and CPU time for it)`,
        measured: `${sentences.wall.toFixed(2)} s (${sentences.cpu.toFixed(2)} s)`,
        target: '',
        met: true,
      },
      {
        what: `Resident memory of both engines, and what ${CALLS} more calls of each add to it`,
        measured: `${(settled - before).toFixed(0)} MB, ${(later - settled).toFixed(0)} MB`,
        target: `≤ ${TARGET_MEGABYTES} MB more`,
        met: later - settled <= TARGET_MEGABYTES,
      },
    ];
  } finally {
    await speech.close();
  }
}

/** Seconds of the median round. */
async function rounds(work: () => Promise<void>): Promise<{ wall: number; cpu: number }> {
  const walls: number[] = [];
  const cpus: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const began = performance.now();
    const used = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(used);
    walls.push((performance.now() - began) / 1_000);
    cpus.push((user + system) / 1e6);
  }
  return { wall: median(walls), cpu: median(cpus) };
}

function megabytes(): number {
  return process.memoryUsage.rss() / 1e6;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)}%`;
}
