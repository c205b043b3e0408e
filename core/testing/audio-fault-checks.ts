import assert from 'node:assert';
import type { HttpClient } from '../contracts/index.js';
import type { AudioProviderDefinition, AudioSample, AudioUpstreamScript } from './audio-definition.js';
import { type AudioRun, describeAudio, runAudio, takesAudio } from './audio-run.js';
import { validReply } from './audio-upstream.js';
import { type Check, reportAll } from './check.js';
import { createFakeHttp, type FakeReply, type SentRequest } from './fake-http.js';
import { atOnce, MAX_TRIES, modelErrorOf, modelFaults, UNREADABLE, WORDS, withWords } from './model-faults.js';
import { leakedSecrets } from './secrets.js';

/** Errors that a caller can fix. */
const CALLER_CODES = [
  'invalid_value',
  'unsupported_value',
  'unsupported_parameter',
  'moderation_blocked',
  'request_too_large',
];

interface Fault {
  name: string;
  codes: readonly string[];
  reply(valid: FakeReply): FakeReply;
}

const FAULTS: readonly Fault[] = [
  ...modelFaults({ retryAfterSeconds: 1 }).map((fault) => ({ ...fault, reply: () => fault.reply })),
  { name: 'an empty body', codes: UNREADABLE, reply: (valid) => ({ ...valid, body: '' }) },
  { name: 'JSON of something else', codes: UNREADABLE, reply: () => ({ body: { status: WORDS } }) },
  { name: 'a body that breaks off', codes: UNREADABLE, reply: (valid) => ({ ...half(valid), after: 'break' }) },
];

/** An upstream that fails in one way for each sample, and a caller that disconnects. */
export function audioFaultChecks(definition: AudioProviderDefinition): Check[] {
  const { upstream, samples } = definition;
  const all = (run: (sample: AudioSample) => Promise<void>) => () => Promise.all(samples.map(run));
  const leaving: Check = {
    name: 'ends at once when the caller leaves',
    run: all((sample) => endsAtOnce(definition, sample)),
  };
  if (!upstream) return [leaving];
  return [
    ...FAULTS.map((fault): Check => {
      return { name: `${fault.name} is named`, run: all((sample) => isNamed(definition, sample, fault)) };
    }),
    {
      name: "a caller's fault is asked once, and told",
      run: all((sample) => isReported(definition, sample, upstream)),
    },
    leaving,
  ];
}

async function isNamed(definition: AudioProviderDefinition, sample: AudioSample, fault: Fault): Promise<void> {
  const secrets = definition.secrets ?? [];
  // Upstreams often quote the request.
  const http = createFakeHttp((request) =>
    withWords(fault.reply(validReply(definition, sample, request)), [WORDS, ...secrets]),
  );
  const run = await runAudio({ definition, sample, http });
  const code = modelErrorOf(run)?.code;
  reportAll(
    [
      ...(code !== undefined && fault.codes.includes(code)
        ? []
        : [`expected ${fault.codes.join(' or ')}, got ${describeAudio(run)}`]),
      ...(http.requests.length <= MAX_TRIES ? [] : [`it asked ${http.requests.length} times`]),
      ...leakedSecrets([...secrets, WORDS], [run.transcript, run.made, run.error, run.setup.logs]),
    ].map((problem) => `${sample.operation}: ${problem}`),
  );
}

async function isReported(
  definition: AudioProviderDefinition,
  sample: AudioSample,
  { refusal }: AudioUpstreamScript,
): Promise<void> {
  const http = createFakeHttp([refusal]);
  const run = await runAudio({ definition, sample, http });
  const error = modelErrorOf(run);
  reportAll(
    [
      ...(error && CALLER_CODES.includes(error.code) ? [] : [`expected the caller's fault, got ${describeAudio(run)}`]),
      ...(error?.retryable === false ? [] : ['it may be asked again, the error says']),
      ...(http.requests.length === 1 ? [] : [`it asked ${http.requests.length} times`]),
      ...leakedSecrets(definition.secrets ?? [], [run.error, run.setup.logs]),
    ].map((problem) => `${sample.operation}: ${problem}`),
  );
}

async function endsAtOnce(definition: AudioProviderDefinition, sample: AudioSample): Promise<void> {
  const gone = new Error('the caller left');
  const ignoring: HttpClient = { request: () => new Promise(() => {}), stream: () => new Promise(() => {}) };
  const before = AbortSignal.abort(gone);
  await endsWith(gone, sample, runAudio({ definition, sample, signal: before, http: ignoring }));
  const leavers: ((leave: () => void, request: SentRequest) => FakeReply)[] = [
    (leave) => {
      setImmediate(leave);
      return { hang: true };
    },
    (leave, request) => {
      const valid = validReply(definition, sample, request);
      // A transcript is only returned when it is complete.
      if (takesAudio(sample.operation)) setImmediate(leave);
      return { ...half(valid), after: 'hang' };
    },
  ];
  if (!definition.upstream) {
    const late = new AbortController();
    setImmediate(() => late.abort(gone));
    await endsWith(gone, sample, runAudio({ definition, sample, signal: late.signal, http: ignoring }));
    return;
  }
  for (const leaver of leavers) {
    const late = new AbortController();
    const leave = () => late.abort(gone);
    const http = createFakeHttp((request) => leaver(leave, request));
    await endsWith(gone, sample, runAudio({ definition, sample, signal: late.signal, http, onChunk: leave }));
  }
}

async function endsWith(reason: Error, { operation }: AudioSample, run: Promise<AudioRun>): Promise<void> {
  const ended = await atOnce(run);
  assert(ended, `${operation} went on after the caller had left`);
  assert.equal(ended.error, reason, `${operation}: expected the reason of the signal, got ${describeAudio(ended)}`);
}

/** The vendors' error formats, all in one. */
function half(reply: FakeReply): Extract<FakeReply, { body?: unknown }> {
  assert('body' in reply, 'the good answer of the script has no body');
  const { body = '' } = reply;
  const isData = typeof body === 'object' && !(body instanceof Uint8Array);
  const whole = Buffer.from(isData ? JSON.stringify(body) : (body as Uint8Array));
  return { ...reply, body: whole.subarray(0, whole.length / 2) };
}
