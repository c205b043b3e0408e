/** Vectors and ratings of the local text upstream. */

import type { AnswerUsage } from './text-answer.js';

type Members = Readonly<Record<string, unknown>>;

interface ReadingAnswer {
  body: object;
  usage?: AnswerUsage;
}

const DIMENSIONS = 8;

/** The inputs of a request, each a text or a list of tokens. */
function inputsOf({ input }: Members): (string | readonly number[])[] {
  if (!Array.isArray(input)) return [String(input)];
  return typeof input[0] === 'number' ? [input as number[]] : (input as (string | number[])[]);
}

/** The vector of an input: the same for the same input, and another for another. */
export function vectorOf(input: string | readonly number[], dimensions = DIMENSIONS): number[] {
  const text = JSON.stringify(input);
  const sum = [...text].reduce((all, letter) => (all * 31 + (letter.codePointAt(0) ?? 0)) % 1_009, 7);
  return Array.from({ length: dimensions }, (_, index) => Math.fround(Math.sin(sum + index)));
}

/** The answer to `POST /v1/embeddings`, as the vendor gives it. */
export function embeddingsAnswer(members: Members): ReadingAnswer {
  const inputs = inputsOf(members);
  const input = inputs.reduce((sum, one) => sum + (typeof one === 'string' ? one.split(/\s+/) : one).length, 0);
  const data = inputs.map((one, index) => {
    const vector = vectorOf(one, Number(members.dimensions ?? DIMENSIONS));
    const bytes = Buffer.from(Float32Array.from(vector).buffer);
    const embedding = members.encoding_format === 'base64' ? bytes.toString('base64') : vector;
    return { object: 'embedding', index, embedding };
  });
  const usage = { prompt_tokens: input, total_tokens: input };
  return {
    body: { object: 'list', data, model: members.model, usage },
    usage: { input, cached: 0, output: 0, reasoning: 0 },
  };
}

/** The answer to `POST /v1/moderations`, which has no usage. */
export function moderationsAnswer(members: Members): ReadingAnswer {
  const results = inputsOf(members).map((input) => {
    const flagged = String(input).includes('cannon');
    return { flagged, categories: { violence: flagged }, category_scores: { violence: flagged ? 0.9 : 0.001 } };
  });
  return { body: { id: 'modr-1', model: members.model, results } };
}
