import assert from 'node:assert';
import type { AudioProviderDefinition, AudioSample } from './audio-definition.js';
import { HEARD, inventSound } from './audio-results.js';
import { hears } from './audio-run.js';
import { createFakeHttp, type FakeHttp, type FakeReply, type SentRequest } from './fake-http.js';

/** The answer of an upstream that does what is asked of it; where the definition has none, a network that fails. */
export function goodReply(
  { upstream }: AudioProviderDefinition,
  { operation }: AudioSample,
  request: SentRequest,
): FakeReply {
  if (!upstream) return { fail: 'connection' };
  const reply = hears(operation) ? upstream.transcript?.(request, HEARD) : upstream.sound?.(request, inventSound);
  assert(reply, `the script of the upstream does not answer ${operation}`);
  return reply;
}

export function willingUpstream(definition: AudioProviderDefinition, sample: AudioSample): FakeHttp {
  return createFakeHttp((request) => goodReply(definition, sample, request));
}
