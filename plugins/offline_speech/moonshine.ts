import { readFile } from 'node:fs/promises';
import tokenizer from 'llama-tokenizer-js';
import { env, InferenceSession, Tensor } from 'onnxruntime-web/wasm';

export interface Heard {
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

const START = 1;
const END = 2;
const LAYERS = 6;
const HEADS = 8;
const HEAD_SIZE = 36;

type Cache = Record<string, Tensor>;

/** The recogniser: Moonshine tiny for English, whose weights its package brings along, under ONNX Runtime. */
export async function openMoonshine(): Promise<(samples: Float32Array) => Promise<Heard>> {
  env.wasm.numThreads = 1;
  const folder = new URL('./model/tiny/quantized/', import.meta.resolve('@moonshine-ai/moonshine-js'));
  const open = async (name: string) =>
    InferenceSession.create(await readFile(new URL(name, folder)), { executionProviders: ['wasm'] });
  const encoder = await open('encoder_model.onnx');
  const decoder = await open('decoder_model_merged.onnx');

  return async (speech) => {
    const samples = withMargins(speech);
    const input = new Tensor('float32', samples, [1, samples.length]);
    const { last_hidden_state: heard } = await encoder.run({ input_values: input });
    if (!heard) throw new Error('the encoder has another output');
    let cache = emptyCache();
    let token = START;
    let logProbability = 0;
    const tokens: number[] = [];
    const longest = Math.ceil((samples.length / RATE) * TOKENS_PER_SECOND);
    for (let step = 0; step < longest; step += 1) {
      const outputs = await decoder.run({
        ...cache,
        input_ids: new Tensor('int64', [token], [1, 1]),
        encoder_hidden_states: heard,
        use_cache_branch: new Tensor('bool', [step > 0]),
      });
      const best = likeliest(outputs.logits?.data as Float32Array);
      token = best.token;
      logProbability += best.logProbability;
      if (token === END) break;
      tokens.push(token);
      cache = nextCache(cache, outputs, step === 0);
    }
    return {
      text: tokenizer.decode([START, ...tokens]).trim(),
      averageLogProbability: logProbability / (tokens.length + 1),
    };
  };
}

function withMargins(speech: Float32Array): Float32Array {
  const margin = MARGIN_SECONDS * RATE;
  const samples = new Float32Array(speech.length + 2 * margin);
  samples.set(speech, margin);
  return samples;
}

function emptyCache(): Cache {
  const names = Array.from({ length: LAYERS }, (_, layer) =>
    ['decoder.key', 'decoder.value', 'encoder.key', 'encoder.value'].map((part) => `past_key_values.${layer}.${part}`),
  );
  return Object.fromEntries(
    names.flat().map((name) => [name, new Tensor('float32', new Float32Array(0), [0, HEADS, 1, HEAD_SIZE])]),
  );
}

/** What was made of the sound stays as the first step has made it; what was made of the words grows. */
function nextCache(cache: Cache, outputs: Readonly<Record<string, Tensor>>, isFirst: boolean): Cache {
  const next = Object.entries(cache).map(([name, before]) => {
    const made = outputs[name.replace('past_key_values', 'present')];
    return [name, made && (isFirst || name.includes('.decoder.')) ? made : before];
  });
  return Object.fromEntries(next);
}

function likeliest(logits: Float32Array): { token: number; logProbability: number } {
  let token = 0;
  for (let index = 1; index < logits.length; index += 1) {
    if ((logits[index] as number) > (logits[token] as number)) token = index;
  }
  const highest = logits[token] as number;
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - highest);
  return { token, logProbability: -Math.log(sum) };
}
