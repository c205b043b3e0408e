/** The testing kit for image providers that poll. */

import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import {
  definePlugin,
  GatewayError,
  type GeneratedImage,
  type HttpRequest,
  type ImageCall,
  type PluginContext,
} from 'mediagate';
import { type ImageProviderDefinition, imageProviderChecks } from '../../../core/testing/index.js';
import { imageModel } from '../../support/images/invented-image.js';

/**
 * The kit for image providers that ask for a task until it is done: it passes one of an invented vendor, and finds each
 * way to do it wrong. Inputs are uploaded first; the task is submitted, polled, and its picture downloaded.
 */

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
  wait(context: PluginContext, signal: AbortSignal): Promise<unknown>;
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
  const plugin = definePlugin({
    name: 'kiln',
    apiVersion: 1,
    summary: 'Images of an invented vendor that works on tasks.',
    provides: ['image'],
    setup: (context) => ({
      imageProviders: [
        { models: [imageModel('kiln-1')], generate: (call) => parts.whole(generate(parts, call, context), call) },
      ],
    }),
  });
  return { plugin, upstream, secrets: ['kiln-x9'] };
}

async function generate(parts: Pieces, call: ImageCall, context: PluginContext): Promise<GeneratedImage> {
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

async function download({ http }: PluginContext, signal: AbortSignal): Promise<GeneratedImage> {
  const { body: bytes } = await http.request({ url: `${HOST}/pictures/1`, signal });
  const head = Buffer.from(bytes.subarray(0, 4)).toString('latin1');
  if (head.startsWith('\x89PNG')) return { bytes, contentType: 'image/png' };
  if (head.startsWith('\xff\xd8')) return { bytes, contentType: 'image/jpeg' };
  if (head === 'RIFF') return { bytes, contentType: 'image/webp' };
  throw new GatewayError('upstream_changed', 'This is no image.');
}

async function stateOf({ http }: PluginContext, request: HttpRequest): Promise<State> {
  const { status, text } = await http.request(request);
  if (status === 400) throw new GatewayError('moderation_blocked', 'Blocked.');
  if ([401, 402, 403].includes(status)) throw new GatewayError('upstream_auth_error', 'It does not serve us.');
  if (status === 429) throw new GatewayError('upstream_rate_limited', 'It limits us.');
  if (status >= 300) throw new GatewayError('upstream_error', 'It failed.');
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
  /** Names of the checks that fail, of all or of those named. */
  async function check(pieces: Partial<Pieces>, only?: readonly string[]): Promise<string[]> {
    const failing: string[] = [];
    for (const { name, run } of imageProviderChecks(definition(pieces))) {
      if (only === undefined || only.includes(name)) await run().catch(() => failing.push(name));
    }
    return failing;
  }

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
        whole: (work, { signal }) =>
          Promise.race([
            work,
            new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
          ]),
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

  for (const [name, { pieces, finds }] of Object.entries(wrong)) {
    it(`finds ${name}`, async () => expect(await check(pieces, finds)).to.have.members([...finds]));
  }
});
