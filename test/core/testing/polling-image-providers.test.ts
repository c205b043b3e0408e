/** Wrong image providers whose upstream works on tasks, each found by the kit. */

import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { GatewayError, type GeneratedImage, type HttpRequest, type ImageCall } from 'mediagate';
import { type ImageProviderDefinition, imageProviderChecks } from '../../../core/testing/index.js';
import { imageModel } from '../../support/images/invented-image.js';
import { firstVariants } from '../../support/runner/variants.js';
import { untilAborted } from '../../support/until-aborted.js';
import { type Context, failing, failureOf, imageOf, inventedProvider } from './invented-provider.js';

const HOST = 'https://kiln.example';
const WORDS = 'kiln-x9 says no';
const PREVIEW = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const upstream: ImageProviderDefinition['upstream'] = {
  image({ url }, bytes) {
    if (String(url) === `${HOST}/inputs`) return { body: { input: 'input-1' } };
    return String(url).startsWith(`${HOST}/tasks/`) ? { body: { state: 'done' } } : { body: bytes };
  },
  moderation: { status: 400, body: { state: 'refused', words: WORDS } },
  polling: {
    part: ({ method, url }) =>
      method !== 'POST'
        ? String(url).includes('/tasks/')
          ? 'poll'
          : 'other'
        : /inputs$/.test(String(url))
          ? 'other'
          : 'submit',
    accepted: (_request, task) => ({ status: 202, body: { task } }),
    pending: () => ({ body: { state: 'running', preview: PREVIEW } }),
    failed: { body: { state: 'failed', words: WORDS } },
    moderation: { body: { state: 'refused', words: WORDS } },
  },
};

/** Of a task. Inputs are uploaded first; the task is submitted and polled, and its picture downloaded. */
interface State {
  state?: string;
  preview?: string;
  words?: string;
}

/** The parts of a plugin that works; a wrong one replaces some of them. */
interface Pieces {
  promptOf(call: ImageCall): string;
  /** The task to ask for. */
  taskOf(own: string): string;
  wait(context: Context, signal: AbortSignal): Promise<unknown>;
  signalOf(call: ImageCall): AbortSignal;
  /** The end of a task by its state: a picture, an error to throw, or that there is none yet. */
  endOf(state: State): 'picture' | GeneratedImage | GatewayError | undefined;
  /** Whether the task goes on after an error of a poll. */
  goesOn(error: GatewayError): boolean;
  /** Whether a new task is begun after one. */
  beginsAnew: boolean;
  whole(work: Promise<GeneratedImage>, call: ImageCall): Promise<GeneratedImage>;
}

const RIGHT: Pieces = {
  promptOf: ({ prompt }) => prompt,
  taskOf: (own) => own,
  wait: ({ clock }, signal) => clock.sleep(1_500, signal),
  signalOf: ({ signal }) => signal,
  endOf: ({ state }) =>
    ({
      running: undefined,
      done: 'picture' as const,
      refused: new GatewayError('moderation_blocked', 'Blocked.'),
      failed: new GatewayError('upstream_refused', 'It could not.'),
    })[state ?? ''] ?? (state === 'running' ? undefined : new GatewayError('upstream_changed', 'This is no task.')),
  goesOn: ({ code }) => ['upstream_error', 'upstream_rate_limited', 'upstream_timeout'].includes(code),
  beginsAnew: false,
  whole: (work) => work,
};

function definition(pieces: Partial<Pieces>): ImageProviderDefinition {
  const parts = { ...RIGHT, ...pieces };
  const provider = inventedProvider('image', (context) => ({
    imageProviders: [
      { models: [imageModel('kiln-1')], generate: (call) => parts.whole(generate(parts, call, context), call) },
    ],
  }));
  return { ...provider, upstream, secrets: ['kiln-x9'] };
}

async function generate(parts: Pieces, call: ImageCall, context: Context): Promise<GeneratedImage> {
  call.signal.throwIfAborted();
  const signal = parts.signalOf(call);
  const inputs = [...call.references, ...(call.mask ? [call.mask] : [])];
  for (const { bytes } of inputs) {
    const body = Buffer.from(bytes);
    await stateOf(context, { url: `${HOST}/inputs`, method: 'POST', body, signal });
  }
  const body = JSON.stringify({ prompt: parts.promptOf(call), format: call.options.output_format });
  const submit = async () => {
    const answer = await stateOf(context, { url: `${HOST}/tasks`, method: 'POST', body, signal });
    const { task } = answer as { task?: string };
    if (!task) throw new GatewayError('upstream_changed', 'There is no task.');
    return parts.taskOf(task);
  };
  let task = await submit();
  for (let failures = 0; ; ) {
    await parts.wait(context, signal);
    try {
      const end = parts.endOf(await stateOf(context, { url: `${HOST}/tasks/${task}`, signal }));
      if (end instanceof GatewayError) throw end;
      if (typeof end === 'object') return end;
      if (end === 'picture') return await download(context, signal);
      failures = 0;
    } catch (error) {
      if (signal.aborted || !(error instanceof GatewayError) || !parts.goesOn(error) || ++failures > 4) throw error;
      if (parts.beginsAnew) task = await submit();
    }
  }
}

async function download({ http }: Context, signal: AbortSignal): Promise<GeneratedImage> {
  return imageOf((await http.request({ url: `${HOST}/pictures/1`, signal })).body);
}

async function stateOf({ http }: Context, request: HttpRequest): Promise<State> {
  const { status, text } = await http.request(request);
  if (status === 400) throw new GatewayError('moderation_blocked', 'Blocked.');
  if (status >= 300) throw failureOf(status);
  try {
    const json: unknown = JSON.parse(text());
    if (typeof json === 'object' && json !== null) return json;
  } catch {
    // As other JSON.
  }
  throw new GatewayError('upstream_changed', 'It answered with something else.');
}

const BETWEEN = 'ends at once when the caller leaves between polls, and polls no more';
const DEADLINE = 'ends with the deadline of its signal if the task is never done';
const MAKES = 'makes an image of 1024x1024';
const FAILED = 'a failed task is named';
const REFUSED = 'a prompt that a poll refuses is asked once, and told';
const KEEPS = ['HTTP 500', 'HTTP 429', 'a broken connection'].map((name) => `keeps its task after a poll with ${name}`);

describe('the testing kit for image providers that poll', () => {
  const check = (pieces: Partial<Pieces>, only?: readonly string[]) =>
    failing(imageProviderChecks(definition(pieces)), only);

  it('passes one that keeps to the rules', async () => expect(await check({})).to.deep.equal([]));

  it('passes one with a limit of its own, by the time of the clock', async () => {
    let until = Number.POSITIVE_INFINITY;
    const limited: Partial<Pieces> = {
      promptOf({ prompt }) {
        until = Number.POSITIVE_INFINITY;
        return prompt;
      },
      async wait({ clock }, signal) {
        if (until === Number.POSITIVE_INFINITY) until = clock.now() + 60_000;
        await clock.sleep(1_500, signal);
        if (clock.now() > until) throw new GatewayError('upstream_timeout', 'It took too long.');
      },
    };
    expect(await check(limited, [DEADLINE, MAKES])).to.deep.equal([]);
  });

  it('refuses a script without a refusal, with a reason', async () => {
    const { moderation: _, ...polling } = upstream.polling!;
    const { plugin } = definition({});
    const script = { image: upstream.image, polling };
    expect(() => imageProviderChecks({ plugin, upstream: script })).to.throw('has no moderation');
  });

  const asked: string[] = [];
  const wrong: Readonly<Record<string, { pieces: Partial<Pieces>; finds: readonly string[] }>> = {
    'a prompt that is lost': { pieces: { promptOf: () => 'A picture' }, finds: ['takes a prompt as words: markup'] },
    'a task that is not done taken for one that is': {
      pieces: {
        endOf: (state) =>
          state.preview
            ? { bytes: Buffer.from(state.preview, 'base64'), contentType: 'image/png' }
            : RIGHT.endOf(state),
      },
      finds: [MAKES, 'makes an image of a task that is done after 8 polls'],
    },
    'a wait that does not hear its signal': {
      pieces: { wait: ({ clock }) => clock.sleep(1_500) },
      finds: [BETWEEN],
    },
    'one that hears nothing of its signal': {
      pieces: { signalOf: () => new AbortController().signal },
      finds: [DEADLINE],
    },
    'one that polls on for a caller who has left': {
      pieces: {
        signalOf: () => new AbortController().signal,
        whole: (work, { signal }) => Promise.race([work, untilAborted(signal)]),
      },
      finds: [BETWEEN, DEADLINE],
    },
    'polls without a pause': { pieces: { wait: async () => {} }, finds: [MAKES] },
    'waits in real time': { pieces: { wait: () => setTimeout(5) }, finds: [MAKES] },
    'the task of another call': {
      pieces: { taskOf: (own) => asked[asked.push(own) - 2] ?? own },
      finds: ['keeps calls beside each other apart'],
    },
    'a task that a failed poll ends': { pieces: { goesOn: () => false }, finds: KEEPS },
    'another task after a failed poll': { pieces: { beginsAnew: true }, finds: KEEPS },
    'a refusal by a poll called a failure': {
      pieces: {
        endOf: (state) => RIGHT.endOf(state.state === 'refused' ? { state: 'failed' } : state),
      },
      finds: [REFUSED],
    },
    'a failed task that is asked for again': {
      pieces: { endOf: (state) => (state.state === 'failed' ? undefined : RIGHT.endOf(state)) },
      finds: [FAILED],
    },
    "the vendor's words about a failed task": {
      pieces: {
        endOf: (state) =>
          state.state === 'failed' ? new GatewayError('upstream_refused', `${state.words}`) : RIGHT.endOf(state),
      },
      finds: [FAILED],
    },
  };

  for (const [name, { pieces, finds }] of firstVariants(Object.entries(wrong), ([, { finds }]) => finds)) {
    it(`finds ${name}`, async () => expect(await check(pieces, finds)).to.have.members([...finds]));
  }
});
