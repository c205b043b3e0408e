/*
 * Finds the most likely token sequence of a model by following several hypotheses at once. Each step is one run of the
 * model for all of them. Scores are compared per token, so that short sequences have no advantage.
 */

/** A sequence of tokens, and how likely it is. */
export interface Hypothesis {
  tokens: readonly number[];
  /** Natural logarithm, of all its tokens together. */
  logProbability: number;
}

export interface BeamSearch {
  /** Hypotheses that are followed at the same time. */
  width: number;
  start: number;
  end: number;
  /** Tokens of a hypothesis, at most. */
  longest: number;
  /**
   * One step of the model, for all hypotheses at once.
   * @param last The newest token of each.
   * @param parents Which hypothesis of the step before each goes on with.
   * @returns logits, those of one hypothesis after those of another.
   */
  step(last: readonly number[], parents: readonly number[]): Promise<Float32Array>;
}

interface Candidate extends Hypothesis {
  parent: number;
}

/** The likeliest sequence for its length, without `start` and `end`. */
export async function searchBeam({ width, start, end, longest, step }: BeamSearch): Promise<Hypothesis> {
  const ended: Hypothesis[] = [];
  let open: readonly Candidate[] = [{ tokens: [start], logProbability: 0, parent: 0 }];
  for (let length = 0; length < longest && open.length > 0 && ended.length < width; length += 1) {
    const logits = await step(
      open.map(({ tokens }) => tokens.at(-1) as number),
      open.map(({ parent }) => parent),
    );
    const candidates = continuations(open, logits, width);
    const best = candidates.filter(({ tokens }) => tokens.at(-1) !== end).slice(0, width);
    const worst = best.at(-1)?.logProbability ?? Number.NEGATIVE_INFINITY;
    // Only one that is better than the last of those that go on has ended; others would end anywhere.
    ended.push(...candidates.filter(({ tokens, logProbability }) => tokens.at(-1) === end && logProbability >= worst));
    open = best;
  }
  const perToken = ({ tokens, logProbability }: Hypothesis) => logProbability / (tokens.length - 1);
  const [best = { tokens: [start], logProbability: 0 }] = [...(ended.length > 0 ? ended : open)].sort(
    (one, other) => perToken(other) - perToken(one),
  );
  return {
    tokens: best.tokens.filter((token) => token !== start && token !== end),
    logProbability: best.logProbability,
  };
}

/** Likeliest first. */
function continuations(open: readonly Candidate[], logits: Float32Array, width: number): Candidate[] {
  const vocabulary = logits.length / open.length;
  return open
    .flatMap(({ tokens, logProbability }, parent) =>
      likeliest(logits.subarray(parent * vocabulary, (parent + 1) * vocabulary), width + 1).map((next) => ({
        tokens: [...tokens, next.token],
        logProbability: logProbability + next.logProbability,
        parent,
      })),
    )
    .sort((one, other) => other.logProbability - one.logProbability);
}

/** The `count` likeliest tokens, with the natural logarithms of their probabilities. */
function likeliest(logits: Float32Array, count: number): { token: number; logProbability: number }[] {
  const best: { token: number; logit: number }[] = [];
  for (const [token, logit] of logits.entries()) {
    if (best.length === count && logit <= (best.at(-1)?.logit as number)) continue;
    const place = best.findIndex((other) => other.logit < logit);
    best.splice(place < 0 ? best.length : place, 0, { token, logit });
    best.length = Math.min(best.length, count);
  }
  const highest = best[0]?.logit as number;
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - highest);
  return best.map(({ token, logit }) => ({ token, logProbability: logit - highest - Math.log(sum) }));
}
