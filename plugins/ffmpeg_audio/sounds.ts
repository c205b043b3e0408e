/*
 * Creates sound effects from a prompt without a model. Words of the prompt choose at most three sounds out of a list;
 * each is a chain of ffmpeg's noise sources, formulas and filters, and the chains are mixed, limited and faded in and
 * out. The same prompt gives the same samples, because all random parts are seeded with its hash. A prompt that names
 * none of the sounds fails and lists those that exist. Without a stated duration, the longest sound sets it.
 */

import { createHash } from 'node:crypto';
import {
  type AudioFilters,
  type AudioStream,
  GatewayError,
  type GenerateSoundCall,
  resumeBody,
} from 'mediagate/plugin';

/** A sound effect that needs no model. */
interface Sound {
  /** For people. */
  name: string;
  /** Words of a prompt that mean it. */
  words: RegExp;
  /** Seconds where nobody says how long. */
  seconds: number;
  /** A chain of ffmpeg's filters that begins with a source. @param seed Of what is random in it. */
  chain(seed: number): string;
}

const noise = (color: 'white' | 'pink' | 'brown', seed: number, amplitude = 1) =>
  `anoisesrc=color=${color}:seed=${seed}:amplitude=${amplitude}:sample_rate=24000`;

/** A formula of the time `t` in seconds. Its `random(0)` is a noise of its own for each seed. */
const formula = (expression: string, seed: number) =>
  `aevalsrc=exprs='if(eq(n,0),st(0,${seed}),0)*0+${expression}':sample_rate=24000`;

/** Slow swelling, between two shares of the loudness. */
const swelling = (low: number, high: number, hertz: number) =>
  `volume='${(low + high) / 2}+${(high - low) / 2}*sin(2*PI*${hertz}*t)*sin(2*PI*${hertz * 0.37}*t+1)':eval=frame`;

/** Partials of a struck bar, each fainter and shorter than the one before. */
const struck = (hertz: number, every: number) => {
  const partials = [1, 2, 2.4, 3, 4.5, 5.33];
  const tones = partials.map((ratio, index) => {
    const fading = `exp(-${1.2 + index}*mod(t,${every}))`;
    return `${(0.3 / (index + 1)).toFixed(3)}*sin(2*PI*${hertz * ratio}*mod(t,${every}))*${fading}`;
  });
  return tones.join('+');
};

export const SOUNDS: readonly Sound[] = [
  {
    name: 'rain',
    words: /\b(?:rain(?:s|ing|y|fall|drops?|storm)?|downpour|drizzle|(?:thunder)?storm)\b/i,
    seconds: 5,
    chain: (seed) => `${noise('pink', seed, 0.6)},highpass=f=800,lowpass=f=9000,${swelling(0.8, 1, 0.4)}`,
  },
  {
    name: 'wind',
    words: /\b(?:wind(?:s|y)?|breeze|gale|gusts?|blizzard)\b/i,
    seconds: 5,
    chain: (seed) => `${noise('pink', seed)},bandpass=f=420:width_type=h:w=320,${swelling(0.4, 2, 0.31)}`,
  },
  {
    name: 'thunder',
    words: /\b(?:thunder(?:s|ing|storm|clap)?|lightning)\b/i,
    seconds: 5,
    chain: (seed) =>
      `${formula('(random(0)*2-1)*(exp(-1.1*t)+0.7*exp(-2*pow(t-1.3,2))+0.5*exp(-3*pow(t-2.6,2)))', seed)},lowpass=f=140,lowpass=f=200,volume=8`,
  },
  {
    name: 'waves',
    words: /\b(?:waves?|sea|ocean|surf|beach|shore)\b/i,
    seconds: 8,
    chain: (seed) => `${noise('pink', seed)},lowpass=f=1800,volume='0.15+0.85*pow(sin(PI*t/6+0.4),2)':eval=frame`,
  },
  {
    name: 'stream',
    words: /\b(?:stream|brook|creek|river|waterfall|fountain|running water)\b/i,
    seconds: 5,
    chain: (seed) =>
      `${noise('white', seed, 0.5)},bandpass=f=900:width_type=h:w=900,tremolo=f=7:d=0.3,tremolo=f=3.1:d=0.3`,
  },
  {
    name: 'fire',
    words: /\b(?:fire(?:place|wood)?|flames?|campfire|bonfire|crackling)\b/i,
    seconds: 5,
    chain: (seed) =>
      `${formula('0*if(gt(random(0),0.9993),st(1,t),0)+(random(0)*2-1)*(0.1+1.4*exp(-180*(t-ld(1))))', seed)},highpass=f=90,lowpass=f=5000`,
  },
  {
    name: 'explosion',
    words: /\b(?:explosions?|explod(?:e|es|ing)|blast|bomb|boom|detonation)\b/i,
    seconds: 3,
    chain: (seed) =>
      `${formula('(random(0)*2-1)*exp(-1.8*t)*(1-exp(-400*t))', seed)},lowpass=f=300,volume=5,aecho=0.8:0.6:90:0.3`,
  },
  {
    name: 'click',
    words: /\b(?:clicks?|clicking|mouse|button press|switch)\b/i,
    seconds: 1,
    chain: (seed) => `${formula('0.9*(random(0)*2-1)*exp(-700*mod(t,0.5))', seed)},highpass=f=1500`,
  },
  {
    name: 'clock',
    words: /\b(?:clock|tick(?:s|ing)?|tick-?tock|metronome)\b/i,
    seconds: 4,
    chain: (seed) =>
      formula(
        '0.8*sin(2*PI*if(lt(mod(t,1),0.5),2600,2100)*t)*exp(-90*mod(t,0.5))+0.2*random(0)*exp(-300*mod(t,0.5))',
        seed,
      ),
  },
  {
    name: 'footsteps',
    words: /\b(?:foot ?steps?|walking|steps)\b/i,
    seconds: 4,
    chain: (seed) =>
      `${formula('(random(0)*2-1)*(exp(-35*mod(t,0.56))+0.3*exp(-60*mod(t+0.46,0.56)))', seed)},lowpass=f=700,volume=2`,
  },
  {
    name: 'heartbeat',
    words: /\b(?:heart ?beats?|pulse)\b/i,
    seconds: 4,
    chain: (seed) => formula('0.9*sin(2*PI*52*t)*(exp(-22*mod(t,0.85))+0.7*exp(-26*mod(t+0.57,0.85)))', seed),
  },
  {
    name: 'bell',
    words: /\b(?:bells?|chimes?|gong|doorbell)\b/i,
    seconds: 4,
    chain: (seed) => formula(struck(520, 4), seed),
  },
  {
    name: 'telephone',
    words: /\b(?:(?:tele)?phone|ringtone|ringing)\b/i,
    seconds: 4,
    chain: (seed) => formula('0.35*(sin(2*PI*440*t)+sin(2*PI*480*t))*lt(mod(t,3),1.6)', seed),
  },
  {
    name: 'siren',
    words: /\b(?:sirens?|ambulance|police|fire ?truck)\b/i,
    seconds: 4,
    chain: (seed) => formula('0.5*sin(2*PI*900*t-(350/0.5)*cos(2*PI*0.5*t))', seed),
  },
  {
    name: 'alarm',
    words: /\b(?:alarms?|alert|buzzer|warning)\b/i,
    seconds: 3,
    chain: (seed) => formula('0.5*sin(2*PI*if(lt(mod(t,0.5),0.25),880,660)*t)', seed),
  },
  {
    name: 'beep',
    words: /\b(?:beeps?|beeping|bleep|tone)\b/i,
    seconds: 1,
    chain: (seed) => formula('0.5*sin(2*PI*1000*t)*lt(mod(t,0.5),0.25)', seed),
  },
  {
    name: 'laser',
    words: /\b(?:lasers?|zap|ray ?gun|blaster)\b/i,
    seconds: 1,
    chain: (seed) => formula('0.6*sin(2*PI*(2600/6)*(1-exp(-6*mod(t,0.7))))*exp(-3*mod(t,0.7))', seed),
  },
  {
    name: 'birds',
    words: /\b(?:birds?|birdsong|chirp(?:s|ing)?|tweet(?:s|ing)?)\b/i,
    seconds: 4,
    chain: (seed) =>
      formula(
        '0.4*sin(2*PI*3600*t+40*sin(2*PI*14*t))*pow(sin(PI*mod(t,0.7)/0.35),2)*lt(mod(t,0.7),0.35)*gt(sin(2*PI*0.31*t),-0.4)',
        seed,
      ),
  },
  {
    name: 'engine',
    words: /\b(?:engines?|motor(?:cycle|bike)?|car|truck|tractor|generator)\b/i,
    seconds: 4,
    chain: (seed) =>
      `${formula('0.7*(mod(t*42,1)-0.5)+0.5*(mod(t*21,1)-0.5)+0.15*(random(0)*2-1)', seed)},lowpass=f=500,tremolo=f=10.5:d=0.4`,
  },
  {
    name: 'static',
    words: /\b(?:static|white noise|hiss(?:ing)?|radio noise)\b/i,
    seconds: 4,
    chain: (seed) => noise('white', seed, 0.3),
  },
];

/** More at once would only be noise. */
const MOST = 3;
/** Seconds in which it begins and ends, so that neither clicks. */
const FADE = 0.02;

/** Makes the sounds that a prompt names: the same for the same words. */
export function createSoundEffects(ffmpeg: AudioFilters) {
  return async ({ text, durationSeconds, options, signal }: GenerateSoundCall): Promise<AudioStream> => {
    const sounds = soundsIn(text);
    const seconds = durationSeconds ?? Math.max(...sounds.map((sound) => sound.seconds));
    const filters = mixOf(sounds, text, seconds);
    const samples = ffmpeg.samples({ filters, rate: RATE, maxSeconds: seconds, signal });
    return { body: await begun(samples), format: 'pcm', ignored: Object.keys(options) };
  };
}

/** @throws GatewayError `plugin_unavailable` where it names none. */
export function soundsIn(text: string): readonly Sound[] {
  const sounds = SOUNDS.filter(({ words }) => words.test(text)).slice(0, MOST);
  if (sounds.length > 0) return sounds;
  const known = SOUNDS.map(({ name }) => name).join(', ');
  const message = `Offline, only these sound effects exist: ${known}. Set ELEVENLABS_API_KEY to connect a model for others.`;
  throw new GatewayError('plugin_unavailable', message, { param: 'text', retryable: false });
}

function mixOf(sounds: readonly Sound[], text: string, seconds: number): string {
  const nextSeed = createSeeds(text);
  const chains = sounds.map(({ chain }, index) => `${chain(nextSeed())}[part${index}]`);
  const parts = sounds.map((_, index) => `[part${index}]`).join('');
  const fades = `afade=t=in:d=${FADE},afade=t=out:st=${seconds - FADE}:d=${FADE}`;
  return `${chains.join(';')};${parts}amix=inputs=${sounds.length},alimiter=limit=0.95,${fades}`;
}

/** Whole numbers from 0 to 2^31 - 1, the same for the same words. */
function createSeeds(words: string): () => number {
  let count = 0;
  return () => {
    count += 1;
    return createHash('sha256').update(`${count} ${words}`).digest().readUInt32LE() >>> 1;
  };
}

/** Samples a second of a `pcm`. */
export const RATE = 24_000;

/** Audio whose first bytes have arrived, so that an error comes before the answer. */
export async function begun(
  samples: AsyncIterable<Uint8Array>,
  failEmpty?: () => never,
): Promise<AsyncIterableIterator<Uint8Array>> {
  const rest = samples[Symbol.asyncIterator]();
  const first = await rest.next();
  if (first.done) failEmpty?.();
  return resumeBody(first, rest);
}
