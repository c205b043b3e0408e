/** Sizes and refusals on the wire of the OpenAI image provider. */

import { expect } from 'chai';
import { askedSize, refusalFailure, type Upstream } from '../requests.js';

const upstream: Upstream = {
  url: 'https://images.example/v1',
  apiKey: 'key-of-ours',
  model: 'vendor-model',
  sizes: 'any',
  maxReferences: 4,
  jsonEdits: false,
  sendsResponseFormat: false,
  idempotent: false,
};
const call = {
  model: 'gen-img-2',
  prompt: 'x',
  size: 'auto',
  references: [],
  options: {},
  signal: new AbortController().signal,
} as const;
const NOW = Date.parse('2026-06-15T12:00:00Z');

describe('openai_image: sizes', () => {
  const listed = ['1024x1024', '1024x1536', '1536x1024', '2048x2048'];
  const nearest: Readonly<Record<string, string>> = {
    '1024x1024': '1024x1024',
    '512x512': '1024x1024',
    '1600x1600': '2048x2048',
    '3000x3000': '2048x2048',
    '1152x2048': '1024x1536',
    '2048x1152': '1536x1024',
  };
  for (const [wanted, size] of Object.entries(nearest)) {
    it(`requests ${size} for ${wanted}`, () => {
      const [width = 0, height = 0] = wanted.split('x').map(Number);
      expect(askedSize({ width, height }, { sizes: listed }).size).to.equal(size);
    });
  }

  it('omits the size if the upstream does not know "auto"', () => {
    expect(askedSize('auto', { sizes: listed })).to.deep.equal({});
    expect(askedSize('auto', { sizes: 'any' })).to.deep.equal({ size: 'auto' });
  });
});

describe('openai_image: refusals', () => {
  const failure = (status: number, error: object = {}, headers: Record<string, string> = {}) =>
    refusalFailure({ status, headers, json: { error } }, call, upstream, NOW);

  const meant: readonly [status: number, code: string | undefined, ours: string, again: string, counts: boolean][] = [
    [400, 'moderation_blocked', 'moderation_blocked', 'nowhere', false],
    [403, 'content_policy_violation', 'moderation_blocked', 'nowhere', false],
    [400, undefined, 'invalid_value', 'nowhere', false],
    [413, 'image_file_too_large', 'image_file_too_large', 'nowhere', false],
    [400, 'model_not_found', 'upstream_error', 'elsewhere', false],
    [404, undefined, 'upstream_error', 'elsewhere', false],
    [302, undefined, 'upstream_error', 'elsewhere', true],
    [401, undefined, 'upstream_auth_error', 'elsewhere', true],
    [429, 'insufficient_quota', 'upstream_auth_error', 'elsewhere', true],
    [429, undefined, 'upstream_rate_limited', 'anywhere', false],
    [500, undefined, 'upstream_error', 'anywhere', true],
    [503, undefined, 'upstream_error', 'anywhere', true],
    [504, undefined, 'upstream_timeout', 'nowhere', true],
  ];
  for (const [status, code, ours, again, counts] of meant) {
    it(`reads ${status} ${code ?? ''} as ${ours}`, () => {
      const { error, consequence } = failure(status, { code });
      expect(error.code).to.equal(ours);
      expect(consequence).to.deep.equal({ again, counts });
    });
  }

  it('reads how long to wait, in seconds or as a date', () => {
    const waits = (text: string) => failure(429, {}, { 'retry-after': text }).error.retryAfterSeconds;
    expect(waits('7')).to.equal(7);
    expect(waits('Mon, 15 Jun 2026 12:00:30 GMT')).to.equal(30);
    expect(waits('Mon, 15 Jun 2026 11:00:00 GMT')).to.equal(1);
    expect(waits('soon')).to.equal(undefined);
  });

  it("name the wrong field if the caller's request has it", () => {
    expect(failure(400, { param: 'image[0]' }).error.param).to.equal('image');
    expect(failure(400, { param: 'partial_images' }).error.param).to.equal(undefined);
  });
});
