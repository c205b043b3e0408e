import assert from 'node:assert';
import type {
  GeneratedImage,
  HttpClient,
  HttpRequest,
  ImageCall,
  ImageProvider,
  ImageSize,
  Media,
  Plugin,
} from '../contracts/index.js';
import { isGatewayError } from '../runtime/index.js';
import { createFakeHttp, type FakeHttp, type FakeReply } from './fakes.js';
import {
  atOnce,
  type Check,
  describeChecks,
  leakedSecrets,
  MAX_TRIES,
  modelErrorOf,
  modelFaults,
  reportAll,
  UNREADABLE,
  WORDS,
  withWords,
} from './runner.js';
import { imageProviderOf, setUpPlugin, type TestSetup } from './setup.js';

export interface ImageProviderDefinition {
  plugin: Plugin;
  /** Options of a valid instance. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Texts that must not appear in a result, an error or the log. Default: none. */
  secrets?: readonly string[];
  /** How its upstream answers. Default: it works without an upstream. */
  upstream?: ImageUpstreamScript;
  /** False for models without references, which refuse calls with some. Default true. */
  takesReferences?: boolean;
}

/** An upstream in its own format. */
export interface ImageUpstreamScript {
  /** A successful answer with these bytes. */
  image(request: HttpRequest, bytes: Uint8Array): FakeReply;
  /** The refusal of a prompt by its safety system. */
  moderation: FakeReply;
}

const SIZES = ['1024x1024', '1024x1536', '1536x1024', '1152x2048', '3840x1280', '16x16'] as const;
const FORMATS = ['png', 'jpeg', 'webp'] as const;
const COLOURS = ['#b3403a', '#2f6f8f', '#5b8c3e', '#c98f2b'] as const;

/** Prompts that intermediate layers may alter. */
const PROMPTS: Readonly<Record<string, string>> = {
  markup: `<script>alert("x")</script> &amp; ]]> <image href="file:///etc/hosts"/> <!ENTITY x "y">`,
  'a form': 'one\r\n--form\r\nContent-Disposition: form-data; name="model"\r\n\r\nother\r\n--form--',
  JSON: '","n":10,"x":"\\u0000\\"} %s %n {{x}} $x',
  controls: 'tab\t, null \u0000, escape \u001b[31m, turned \u202e round, half \ud800 pair',
  scripts: 'Một ngày ở Hội An, 漢字とかな, 한국어, مرحبا, 🎉👩‍👩‍👧‍👦, Łódź',
  'one sign': '.',
  'very much': `A very ${'long and '.repeat(3_500)}winding road`.slice(0, 32_000),
};

/** Checks that every image provider must pass. */
export function imageProviderChecks(definition: ImageProviderDefinition): Check[] {
  const check = (name: string, run: Check['run']): Check => ({ name, run });
  return [
    check('names its models', () => namesModels(definition)),
    check('makes an image of words with each model', () => eachModel(definition)),
    ...SIZES.map((size) => check(`makes an image of ${size}`, () => withSize(definition, size))),
    check('makes an image of a size of its own', () => makes(definition, { size: 'auto' })),
    ...FORMATS.map((format) =>
      check(`gives ${format} where it is asked for, or says that it does not`, () => asFormat(definition, format)),
    ),
    ...(definition.takesReferences === false
      ? [check('refuses references, and asks nobody', () => refusesReferences(definition))]
      : [1, 2, 3, 4].map((count) =>
          check(`uses ${count} reference${count === 1 ? '' : 's'}`, () => withReferences(definition, count)),
        )),
    ...Object.entries(PROMPTS).map(([name, prompt]) =>
      check(`takes a prompt as words: ${name}`, () => makes(definition, { prompt })),
    ),
    check('leaves what it is given alone', () => leavesAlone(definition)),
    check('keeps calls beside each other apart', () => apart(definition)),
    ...imageFaultChecks(definition),
  ];
}

/** Registers {@link imageProviderChecks} with the test runner's global `describe` and `it`. */
export function describeImageProvider(definition: ImageProviderDefinition): void {
  describeChecks(`image provider ${definition.plugin.name}`, imageProviderChecks(definition));
}

async function providerOf({ plugin, options }: ImageProviderDefinition): Promise<ImageProvider> {
  return imageProviderOf(await setUpPlugin({ plugin, options, http: createFakeHttp([{ fail: 'connection' }]) }));
}

async function namesModels(definition: ImageProviderDefinition): Promise<void> {
  const { models } = await providerOf(definition);
  reportAll([
    ...(models.length > 0 ? [] : ['there are no models']),
    ...(new Set(models).size === models.length ? [] : ['a model is named twice']),
    ...models.filter((id) => !/^[A-Za-z0-9][\w.:/-]{0,99}$/.test(id)).map((id) => `"${id}" is no name of a model`),
  ]);
}

async function eachModel(definition: ImageProviderDefinition): Promise<void> {
  const { models } = await providerOf(definition);
  for (const model of models) await makes(definition, { model });
}

async function withSize(definition: ImageProviderDefinition, text: string): Promise<void> {
  const [width = 0, height = 0] = text.split('x').map(Number);
  const { image } = await makes(definition, { size: { width, height } });
  if (definition.upstream) return;
  // A provider without an upstream has no reason to ignore settings.
  const made = await decodeImage(image.bytes);
  assert.equal(`${made.width}x${made.height}`, text, 'the image has another size than was asked for');
}

async function asFormat(definition: ImageProviderDefinition, format: (typeof FORMATS)[number]): Promise<void> {
  const { image } = await makes(definition, { options: { output_format: format } });
  if (image.contentType === `image/${format}`) return;
  const isWarned = image.warnings?.some((warning) => warning.includes('output_format')) ?? false;
  assert(isWarned, `it is ${image.contentType}, and no warning names output_format`);
}

async function withReferences(definition: ImageProviderDefinition, count: number): Promise<void> {
  const references = await Promise.all(
    COLOURS.slice(0, count).map((colour, index) =>
      inventImage({ width: 90 + 20 * index, height: 70 }, FORMATS[index % FORMATS.length] ?? 'png', colour),
    ),
  );
  const { image, requests } = await makes(definition, { references });
  if (definition.upstream) {
    const sent = Buffer.concat(requests.map(({ body = '' }) => Buffer.from(body as Uint8Array)));
    let from = 0;
    for (const [index, { bytes }] of references.entries()) {
      const found = indexOfBytes(sent, Buffer.from(bytes), from);
      assert(found >= 0, `reference ${index + 1} was not sent, or not in its place`);
      from = found;
    }
    return;
  }
  // Two, since code may look only at the first.
  const others = [...references.slice(0, -1), await inventImage({ width: 70, height: 90 }, 'png', '#111')];
  const { image: other } = await makes(definition, { references: others });
  const [one, two] = await Promise.all([decodeImage(image.bytes), decodeImage(other.bytes)]);
  assert(!one.pixels.equals(two.pixels), `another reference ${count} makes no difference`);
}

async function refusesReferences(definition: ImageProviderDefinition): Promise<void> {
  const references = [await inventImage({ width: 90, height: 70 }, 'png', COLOURS[0])];
  const { http } = await willingUpstream(definition, { references });
  const { error } = await runImage(definition, { references }, http);
  assert(isGatewayError(error), `it answered a reference with ${error ?? 'an image'}`);
  reportAll([
    ...(error.code === 'unsupported_value' ? [] : [`the code is ${error.code}, not unsupported_value`]),
    ...(error.param === 'image' ? [] : [`the param is ${error.param}, not image`]),
    ...(http.requests.length === 0 ? [] : [`it made ${http.requests.length} requests`]),
  ]);
}

/** Where bytes occur, raw or in base64. */
function indexOfBytes(all: Buffer, bytes: Buffer, from: number): number {
  const plain = all.indexOf(bytes, from);
  return plain >= 0 ? plain : all.indexOf(bytes.toString('base64'), from);
}

async function leavesAlone(definition: ImageProviderDefinition): Promise<void> {
  const reference = await inventImage({ width: 40, height: 30 }, 'png', COLOURS[0]);
  const before = Buffer.from(reference.bytes);
  const options = Object.freeze({ quality: 'high', output_format: 'png' });
  const references = definition.takesReferences === false ? [] : [Object.freeze(reference)];
  await makes(definition, { references: Object.freeze(references), options });
  assert(before.equals(reference.bytes), 'the bytes of a reference are changed');
}

async function apart(definition: ImageProviderDefinition): Promise<void> {
  const widths = [256, 512, 768];
  const images = await Promise.all(widths.map((width) => makes(definition, { size: { width, height: 512 } })));
  const made = await Promise.all(images.map(({ image }) => decodeImage(image.bytes)));
  if (!definition.upstream)
    assert.deepEqual(
      made.map(({ width }) => width),
      widths,
    );
}

/** A call that must succeed, and all checks of its image. */
async function makes(definition: ImageProviderDefinition, call: Partial<ImageCall>) {
  const { http, bytes } = await willingUpstream(definition, call);
  const run = await runImage(definition, call, http);
  const image = imageOf(run);
  const made = await decodeImage(image.bytes);
  const { requests } = http;
  const isHandedOn = !definition.upstream || Buffer.from(image.bytes).equals(bytes);
  reportAll([
    ...(made.contentType === image.contentType ? [] : [`${image.contentType} is ${made.contentType}`]),
    ...(isHandedOn ? [] : [`the ${formatOf(call.options?.output_format)} of the upstream is not handed on as it is`]),
    ...(requests.length <= (definition.upstream ? 1 : 0) ? [] : [`it made ${requests.length} requests for one image`]),
    ...(definition.upstream && call.prompt ? promptProblems(requests[0]?.body, call.prompt) : []),
    ...usageProblems(run),
    ...run.setup.undeclared.map((need) => `used the ${need} without naming it in "needs" or "wants"`),
    ...leakedSecrets(definition.secrets ?? [], [image, run.setup.logs]),
  ]);
  return { image, requests };
}

/** A prompt is sent unchanged: as text of a form, or as text in JSON. */
function promptProblems(body: string | Uint8Array | undefined, prompt: string): string[] {
  const sent = Buffer.from((body ?? '') as Uint8Array);
  // As bytes: searching for a text with half a surrogate pair ends the process (Node 24).
  const forms = [prompt, JSON.stringify(prompt).slice(1, -1)].map((text) => Buffer.from(text));
  const isSent = forms.some((form) => sent.includes(form));
  return isSent ? [] : ['the prompt is not sent as it is'];
}

function usageProblems({ image }: ImageRun): string[] {
  return Object.entries(image?.usage ?? {})
    .filter(([, value]) => typeof value === 'number' && !(Number.isFinite(value) && value >= 0))
    .map(([name, value]) => `usage.${name} is ${value}`);
}

interface Fault {
  name: string;
  codes: readonly string[];
  reply(request: HttpRequest, upstream: ImageUpstreamScript): FakeReply | Promise<FakeReply>;
}

const FAULTS: readonly Fault[] = [
  ...modelFaults({ retryAfterSeconds: 1 }).map((fault) => ({ ...fault, reply: () => fault.reply })),
  { name: 'an empty body', codes: UNREADABLE, reply: () => ({ body: '' }) },
  {
    name: 'bytes that are no image',
    codes: UNREADABLE,
    reply: (request, upstream) => upstream.image(request, Buffer.from(WORDS)),
  },
  {
    name: 'an image of no bytes',
    codes: UNREADABLE,
    reply: (request, upstream) => upstream.image(request, Buffer.alloc(0)),
  },
  { name: 'an answer that is cut', codes: UNREADABLE, reply: cutAnswer },
];

/** An upstream that fails in one way, and a caller that disconnects. */
export function imageFaultChecks(definition: ImageProviderDefinition): Check[] {
  const { upstream } = definition;
  const leaving: Check = { name: 'ends at once when the caller leaves', run: () => endsAtOnce(definition) };
  if (!upstream) return [leaving];
  return [
    ...FAULTS.map(({ name, codes, reply }): Check => {
      return { name: `${name} is named`, run: () => isNamed(definition, codes, (request) => reply(request, upstream)) };
    }),
    { name: 'a blocked prompt is asked once, and told', run: () => isBlocked(definition, upstream) },
    leaving,
  ];
}

async function isNamed(
  definition: ImageProviderDefinition,
  codes: readonly string[],
  reply: (request: HttpRequest) => FakeReply | Promise<FakeReply>,
): Promise<void> {
  const secrets = definition.secrets ?? [];
  // Upstreams often quote the request.
  const http = createFakeHttp(async (request) => withWords(await reply(request), [WORDS, ...secrets]));
  const run = await runImage(definition, {}, http);
  const code = modelErrorOf(run)?.code;
  reportAll([
    ...(code !== undefined && codes.includes(code)
      ? []
      : [`expected ${codes.join(' or ')}, got ${describeOutcome(run)}`]),
    ...(http.requests.length <= MAX_TRIES ? [] : [`it asked ${http.requests.length} times`]),
    ...leakedSecrets([...secrets, WORDS], [run.image, run.error, run.setup.logs]),
  ]);
}

async function isBlocked(definition: ImageProviderDefinition, { moderation }: ImageUpstreamScript): Promise<void> {
  const http = createFakeHttp([moderation]);
  const run = await runImage(definition, {}, http);
  const error = modelErrorOf(run);
  reportAll([
    ...(error?.code === 'moderation_blocked' ? [] : [`expected moderation_blocked, got ${describeOutcome(run)}`]),
    ...(error?.retryable === false ? [] : ['it may be asked again, the error says']),
    ...(http.requests.length === 1 ? [] : [`it asked ${http.requests.length} times`]),
    ...leakedSecrets(definition.secrets ?? [], [run.error, run.setup.logs]),
  ]);
}

async function endsAtOnce(definition: ImageProviderDefinition): Promise<void> {
  const gone = new Error('the caller left');
  const ignoring: HttpClient = { request: () => new Promise(() => {}), stream: () => new Promise(() => {}) };
  await endsWith(gone, runImage(definition, { signal: AbortSignal.abort(gone) }, ignoring));
  const late = new AbortController();
  const http = createFakeHttp(() => {
    setImmediate(() => late.abort(gone));
    return { hang: true };
  });
  if (!definition.upstream) setImmediate(() => late.abort(gone));
  // Large enough that no call completes before the caller has disconnected.
  await endsWith(gone, runImage(definition, { size: { width: 3840, height: 2160 }, signal: late.signal }, http));
}

async function endsWith(reason: Error, run: Promise<ImageRun>): Promise<void> {
  const ended = await atOnce(run);
  assert(ended, 'it went on after the caller had left');
  assert.equal(ended.error, reason, `expected the reason of the signal, got ${describeOutcome(ended)}`);
}

async function cutAnswer(request: HttpRequest, upstream: ImageUpstreamScript): Promise<FakeReply> {
  const { bytes } = await inventImage({ width: 64, height: 64 }, 'png', '#456');
  const reply = upstream.image(request, bytes);
  if (!('body' in reply)) return reply;
  const whole = bodyText(reply.body);
  return { ...reply, body: whole.subarray(0, whole.length / 2) };
}

function bodyText(body: string | Uint8Array | object = ''): Buffer {
  if (typeof body === 'string' || body instanceof Uint8Array) return Buffer.from(body as Uint8Array);
  return Buffer.from(JSON.stringify(body));
}

export type ImageFormat = 'png' | 'jpeg' | 'webp';

export interface ImageRun {
  setup: TestSetup;
  image?: GeneratedImage;
  error?: unknown;
}

/** One call of a plugin that was set up for it alone. Default model: its first. */
export async function runImage(
  definition: ImageProviderDefinition,
  call: Partial<ImageCall>,
  http: HttpClient,
): Promise<ImageRun> {
  const setup = await setUpPlugin({ plugin: definition.plugin, options: definition.options, http });
  const provider = imageProviderOf(setup);
  const run: ImageRun = { setup };
  try {
    run.image = await provider.generate({
      model: provider.models[0] ?? '',
      prompt: 'A lighthouse in the fog',
      size: { width: 1024, height: 1024 },
      references: [],
      options: {},
      idempotencyKey: 'job-of-the-test',
      signal: new AbortController().signal,
      ...call,
    });
  } catch (error) {
    run.error = error;
  }
  await setup.contributions.dispose?.();
  return run;
}

/** A working upstream; if the definition has none, a network that fails. */
export async function willingUpstream(
  definition: ImageProviderDefinition,
  call: Partial<ImageCall>,
): Promise<{ http: FakeHttp; bytes: Uint8Array }> {
  const { size = { width: 1024, height: 1024 }, options = {} } = call;
  const format = formatOf(options.output_format);
  const { bytes } = await inventImage(size === 'auto' ? { width: 800, height: 600 } : size, format, '#2f6f8f');
  const { upstream } = definition;
  const http = createFakeHttp(upstream ? (request) => upstream.image(request, bytes) : [{ fail: 'connection' }]);
  return { http, bytes };
}

export function formatOf(outputFormat: unknown): ImageFormat {
  return outputFormat === 'jpeg' || outputFormat === 'webp' ? outputFormat : 'png';
}

const invented = new Map<string, Promise<Buffer>>();

/** An image of one colour. */
export async function inventImage(size: ImageSize, format: ImageFormat, background: string): Promise<Media> {
  const key = `${size.width}x${size.height} ${format} ${background}`;
  const made = invented.get(key) ?? encodeImage(size, format, background);
  invented.set(key, made);
  // A copy each time, since a caller may modify it.
  return { bytes: Buffer.from(await made), contentType: `image/${format}` };
}

async function encodeImage(size: ImageSize, format: ImageFormat, background: string): Promise<Buffer> {
  const sharp = await loadSharp();
  return sharp({ create: { ...size, channels: 3, background } })
    .toFormat(format)
    .toBuffer();
}

/** Decodes every pixel of an image. @throws Error if it is no complete image. */
export async function decodeImage(bytes: Uint8Array): Promise<ImageSize & { contentType: string; pixels: Buffer }> {
  const sharp = await loadSharp();
  const { format } = await sharp(bytes).metadata();
  const { data, info } = await sharp(bytes, { failOn: 'warning' }).raw().toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, contentType: `image/${format}`, pixels: data };
}

/** The image of a run that must succeed. */
export function imageOf({ image, error }: ImageRun): GeneratedImage {
  if (image) return image;
  throw new assert.AssertionError({ message: `expected an image, got ${describeOutcome({ error })}` });
}

export function describeOutcome({ image, error }: Pick<ImageRun, 'image' | 'error'>): string {
  if (image) return 'an image';
  return isGatewayError(error) ? `${error.code}: ${error.message}` : String(error);
}

/** Lazily: only tests of image providers need it. */
async function loadSharp() {
  return (await import('sharp')).default;
}
