/** Usage in the shape of every vendor. */

import { expect } from 'chai';
import { laterUsage, readUsage } from '../../../core/text/usage-shapes.js';

const details = (cached: number) => ({ prompt_tokens_details: { cached_tokens: cached } });
const thought = (reasoning: number) => ({ completion_tokens_details: { reasoning_tokens: reasoning } });

/** What vendors report, and what it means: input, output, total, from the cache, written to it, reasoning. */
const SHAPES: readonly [vendor: string, usage: object, counts: readonly (number | undefined)[]][] = [
  [
    'OpenAI, chat',
    { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14, ...thought(3) },
    [9, 5, 14, undefined, undefined, 3],
  ],
  [
    'OpenAI, response',
    {
      input_tokens: 9,
      output_tokens: 5,
      total_tokens: 14,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens_details: { reasoning_tokens: 3 },
    },
    [9, 5, 14, 4, undefined, 3],
  ],
  [
    'xAI, reasoning apart',
    { prompt_tokens: 10_120, completion_tokens: 1_499, total_tokens: 14_428, ...details(0), ...thought(2_809) },
    [10_120, 4_308, 14_428, 0, undefined, 2_809],
  ],
  [
    'xAI, reasoning apart, with as much from the cache',
    { prompt_tokens: 900, completion_tokens: 10, total_tokens: 1_410, ...details(500), ...thought(500) },
    [900, 510, 1_410, 500, undefined, 500],
  ],
  [
    'reasoning apart without a total',
    { prompt_tokens: 10, completion_tokens: 5, ...thought(70) },
    [10, 75, 85, undefined, undefined, 70],
  ],
  [
    'Gemini, thoughts only in the total',
    { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_800, ...details(600) },
    [1_000, 800, 1_800, 600, undefined, undefined],
  ],
  [
    'Gemini, native',
    {
      promptTokenCount: 20,
      candidatesTokenCount: 7,
      thoughtsTokenCount: 30,
      totalTokenCount: 57,
      cachedContentTokenCount: 4,
    },
    [20, 37, 57, 4, undefined, 30],
  ],
  [
    'DeepSeek',
    {
      prompt_tokens: 100,
      completion_tokens: 7,
      total_tokens: 107,
      prompt_cache_hit_tokens: 64,
      prompt_cache_miss_tokens: 36,
    },
    [100, 7, 107, 64, undefined, undefined],
  ],
  [
    'DeepSeek behind a server that adds zeros',
    { prompt_tokens: 100, completion_tokens: 7, total_tokens: 107, ...details(0), prompt_cache_hit_tokens: 64 },
    [100, 7, 107, 64, undefined, undefined],
  ],
  [
    'Kimi',
    { prompt_tokens: 16_111, completion_tokens: 2, total_tokens: 16_113, cached_tokens: 15_872 },
    [16_111, 2, 16_113, 15_872, undefined, undefined],
  ],
  [
    'Mistral',
    { prompt_tokens: 50, completion_tokens: 2, total_tokens: 52, num_cached_tokens: 32 },
    [50, 2, 52, 32, undefined, undefined],
  ],
  [
    'Anthropic',
    { input_tokens: 3, output_tokens: 5, cache_read_input_tokens: 600, cache_creation_input_tokens: 100 },
    [703, 5, 708, 600, 100, undefined],
  ],
  [
    'Anthropic behind a server that adds a total',
    { input_tokens: 3, output_tokens: 5, cache_read_input_tokens: 600, total_tokens: 608 },
    [603, 5, 608, 600, undefined, undefined],
  ],
  [
    'OpenRouter, the cache among the prompt',
    { prompt_tokens: 703, completion_tokens: 5, total_tokens: 708, ...details(600), cache_read_input_tokens: 600 },
    [703, 5, 708, 600, undefined, undefined],
  ],
  [
    'the cache beside the prompt, without a total',
    { prompt_tokens: 12, completion_tokens: 5, ...details(600) },
    [612, 5, 617, 600, undefined, undefined],
  ],
  [
    'the cache beside the prompt, by the total',
    { prompt_tokens: 12, completion_tokens: 5, total_tokens: 617, ...details(600) },
    [612, 5, 617, 600, undefined, undefined],
  ],
  [
    'more from the cache than the prompt has, by the total',
    { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17, ...details(600) },
    [12, 5, 17, 12, undefined, undefined],
  ],
  [
    'Bedrock, Converse',
    { inputTokens: 3, outputTokens: 5, totalTokens: 608, cacheReadInputTokens: 600 },
    [603, 5, 608, 600, undefined, undefined],
  ],
  ['Ollama', { prompt_eval_count: 26, eval_count: 298 }, [26, 298, 324, undefined, undefined, undefined]],
  ['embeddings', { prompt_tokens: 24, total_tokens: 24 }, [24, 0, 24, undefined, undefined, undefined]],
  [
    'transcriptions',
    {
      type: 'tokens',
      input_tokens: 14,
      output_tokens: 45,
      total_tokens: 59,
      input_token_details: { text_tokens: 0, audio_tokens: 14 },
    },
    [14, 45, 59, undefined, undefined, undefined],
  ],
];

describe('the usage of vendors', () => {
  for (const [vendor, usage, counts] of SHAPES) {
    it(`is read: ${vendor}`, () => {
      const { inputTokens, outputTokens, totalTokens, cachedTokens, cacheWriteTokens, reasoningTokens } =
        readUsage(usage) ?? {};
      expect([inputTokens, outputTokens, totalTokens, cachedTokens, cacheWriteTokens, reasoningTokens]).to.deep.equal(
        counts,
      );
    });
  }

  it('includes tokens with a price of their own', () => {
    const claude = {
      input_tokens: 3,
      output_tokens: 5,
      cache_creation_input_tokens: 12_304,
      cache_read_input_tokens: 0,
    };
    const cacheCreation = { ephemeral_5m_input_tokens: 304, ephemeral_1h_input_tokens: 12_000 };
    expect(
      readUsage({
        ...claude,
        cache_creation: cacheCreation,
        server_tool_use: { web_search_requests: 2 },
        speed: 'fast',
      }),
    ).to.include({
      inputTokens: 12_307,
      cacheWriteTokens: 12_304,
      cacheWriteLongTokens: 12_000,
      webSearches: 2,
      serviceTier: 'fast',
    });
    const chat = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };
    const audio = {
      prompt_tokens_details: { audio_tokens: 4 },
      completion_tokens_details: { audio_tokens: 3, image_tokens: 1 },
    };
    expect(readUsage({ ...chat, ...audio, service_tier: 'priority' })).to.include({
      inputAudioTokens: 4,
      outputAudioTokens: 3,
      outputImageTokens: 1,
      serviceTier: 'priority',
    });
    expect(readUsage({ ...chat, service_tier: 'default', num_search_queries: 3 })).to.deep.equal({
      inputTokens: 9,
      outputTokens: 5,
      totalTokens: 14,
      webSearches: 3,
    });
  });

  it('excludes impossible values', () => {
    for (const tokens of [-1, 1.5, '7', Number.POSITIVE_INFINITY, 1e13]) {
      expect(readUsage({ prompt_tokens: 9, completion_tokens: tokens, total_tokens: 9 }), String(tokens)).to.equal(
        undefined,
      );
    }
    for (const usage of [{}, null, 7, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }])
      expect(readUsage(usage)).to.equal(undefined);
  });

  it('is not replaced by zeros at the end of a message', () => {
    const first = { input_tokens: 1_500, output_tokens: 1, cache_creation: { ephemeral_1h_input_tokens: 9 } };
    const last = {
      input_tokens: 0,
      output_tokens: 40,
      cache_read_input_tokens: null,
      cache_creation: { ephemeral_1h_input_tokens: 0 },
    };
    expect(laterUsage(first, last)).to.deep.equal({ ...first, output_tokens: 40 });
    expect(laterUsage({ input_tokens: 1_500 }, { input_tokens: 500, cache_read_input_tokens: 1_000 })).to.deep.equal({
      input_tokens: 500,
      cache_read_input_tokens: 1_000,
    });
  });
});
