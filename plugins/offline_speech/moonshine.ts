/*
 * The engine of the speech recogniser: Moonshine tiny for English, run by ONNX Runtime in WebAssembly on one CPU
 * thread. The encoder runs once for a piece of speech; the decoder then runs once for each token over the beams, with a
 * cache of its earlier steps. A beam of three makes three in ten fewer errors than one and takes half as much time
 * again. The number of tokens is limited by the duration, which stops a model that repeats itself.
 */

import { readFile } from 'node:fs/promises';
import { searchBeam } from './beam-search.js';
import { env, InferenceSession, Tensor, tokenizer } from './onnx.js';

/** 16,000 samples a second, -1 to 1; at most a few tens of seconds. */
export type HearOrder = Float32Array;

export interface HearAnswer {
  /** Empty where nothing was understood. */
  text: string;
  /** Mean of the natural logarithms of the probabilities of its tokens; nearer to 0 is surer. */
  averageLogProbability: number;
}

const RATE = 16_000;
/** Silence to each side: the model hears the first and the last word better. */
const MARGIN_SECONDS = 0.3;
/** Nobody speaks faster; a model that goes round in circles would. */
const TOKENS_PER_SECOND = 6.5;
/** Three wrong words in ten fewer than with one, in half as much time again; more gain nothing. */
const BEAM_WIDTH = 3;

const START = 1;
const END = 2;
const LAYERS = 6;
const HEADS = 8;
const HEAD_SIZE = 36;

/** What the decoder keeps, as inputs of its next step: of its words, which grow, and of the sound, which stays. */
type Cache = Readonly<Record<string, Tensor>>;

const OF_WORDS = namesOfCache('decoder');
const OF_SOUND = namesOfCache('encoder');
/** What was made of the sound is not fetched again: most of a step would be copying it. */
const LATER_OUTPUTS = ['logits', ...OF_WORDS.map(outputOf)];

/** The weights and the runtime, which the build takes out of their packages. */
const WEIGHTS = new URL('./weights/', import.meta.url);

/** The recogniser: Moonshine tiny for English, under ONNX Runtime. */
export async function openEngine(): Promise<(samples: Float32Array) => Promise<HearAnswer>> {
  env.wasm.numThreads = 1;
  env.wasm.wasmBinary = await readFile(new URL('ort-wasm-simd-threaded.wasm', WEIGHTS));
  const options: InferenceSession.SessionOptions = {
    executionProviders: ['wasm'],
    // More takes a second longer at the start, and makes no piece of speech faster.
    graphOptimizationLevel: 'basic',
  };
  const open = async (name: string) => InferenceSession.create(await readFile(new URL(name, WEIGHTS)), options);
  const encoder = await open('encoder_model.onnx');
  const decoder = await open('decoder_model_merged.onnx');

  return async (speech) => {
    const samples = withMargins(speech);
    const input = new Tensor('float32', samples, [1, samples.length]);
    const { tokens, logProbability } = await searchBeam({
      width: BEAM_WIDTH,
      start: START,
      end: END,
      longest: Math.ceil((samples.length / RATE) * TOKENS_PER_SECOND),
      step: createSteps(decoder, only(await encoder.run({ input_values: input }), 'last_hidden_state')),
    });
    return {
      text: tokenizer.decode([START, ...tokens]).trim(),
      averageLogProbability: logProbability / (tokens.length + 1),
    };
  };
}

/** The decoder for one sound. It begins with one row, and each step says which rows the next one goes on with. */
function createSteps(decoder: InferenceSession, encoded: Tensor) {
  let sound = encoded;
  let ofSound: Cache = emptyCache(OF_SOUND);
  let ofWords: Cache = emptyCache(OF_WORDS);
  let rows = 0;

  return async (last: readonly number[], parents: readonly number[]): Promise<Float32Array> => {
    const isFirst = rows === 0;
    if (!isFirst) {
      const isSame = rows === parents.length && parents.every((parent, row) => parent === row);
      if (!isSame) ofWords = mapCache(ofWords, (tensor) => takeRows(tensor, parents));
      if (rows !== parents.length) {
        const first = parents.map(() => 0);
        ofSound = mapCache(ofSound, (tensor) => takeRows(tensor, first));
        sound = takeRows(sound, first);
      }
    }
    rows = last.length;
    const inputs = {
      ...ofSound,
      ...ofWords,
      input_ids: new Tensor('int64', last, [rows, 1]),
      encoder_hidden_states: sound,
      use_cache_branch: new Tensor('bool', [!isFirst]),
    };
    const outputs = isFirst ? await decoder.run(inputs) : await decoder.run(inputs, LATER_OUTPUTS);
    ofWords = mapCache(ofWords, (_before, name) => only(outputs, outputOf(name)));
    if (isFirst) ofSound = mapCache(ofSound, (_before, name) => only(outputs, outputOf(name)));
    return only(outputs, 'logits').data as Float32Array;
  };
}

function withMargins(speech: Float32Array): Float32Array {
  const margin = MARGIN_SECONDS * RATE;
  const samples = new Float32Array(speech.length + 2 * margin);
  samples.set(speech, margin);
  return samples;
}

function namesOfCache(of: 'decoder' | 'encoder'): string[] {
  return Array.from({ length: LAYERS }, (_, layer) =>
    ['key', 'value'].map((part) => `past_key_values.${layer}.${of}.${part}`),
  ).flat();
}

function outputOf(name: string): string {
  return name.replace('past_key_values', 'present');
}

function emptyCache(names: readonly string[]): Cache {
  const empty = () => new Tensor('float32', new Float32Array(0), [0, HEADS, 1, HEAD_SIZE]);
  return Object.fromEntries(names.map((name) => [name, empty()]));
}

function mapCache(cache: Cache, change: (tensor: Tensor, name: string) => Tensor): Cache {
  return Object.fromEntries(Object.entries(cache).map(([name, tensor]) => [name, change(tensor, name)]));
}

function takeRows(tensor: Tensor, rows: readonly number[]): Tensor {
  const data = tensor.data as Float32Array;
  const [count = 1, ...rest] = tensor.dims;
  const size = data.length / count;
  const taken = new Float32Array(rows.length * size);
  for (const [index, row] of rows.entries()) taken.set(data.subarray(row * size, (row + 1) * size), index * size);
  return new Tensor('float32', taken, [rows.length, ...rest]);
}

function only(outputs: Readonly<Record<string, Tensor>>, name: string): Tensor {
  const output = outputs[name];
  if (!output) throw new Error(`the model has no output ${name}`);
  return output;
}
