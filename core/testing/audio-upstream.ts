import assert from 'node:assert';
import type { AudioProviderDefinition, AudioSample } from './audio-definition.js';
import { inventAudio, TRANSCRIPT } from './audio-results.js';
import { takesAudio } from './audio-run.js';
import { createFakeHttp, type FakeHttp, type FakeReply, type SentRequest } from './fake-http.js';

/** The answer of a working upstream; if the definition has none, a network that fails. */
export function validReply(
  { upstream }: AudioProviderDefinition,
  { operation }: AudioSample,
  request: SentRequest,
): FakeReply {
  if (!upstream) return { fail: 'connection' };
  const reply = takesAudio(operation)
    ? upstream.transcript?.(request, TRANSCRIPT)
    : upstream.audio?.(request, inventAudio);
  assert(reply, `the script of the upstream does not answer ${operation}`);
  return reply;
}

export function willingUpstream(definition: AudioProviderDefinition, sample: AudioSample): FakeHttp {
  return createFakeHttp((request) => validReply(definition, sample, request));
}
