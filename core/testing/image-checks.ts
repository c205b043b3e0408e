import assert from 'node:assert';
import type { ImageCall, ImageProvider } from '../contracts/index.js';
import { isGatewayError } from '../runtime/index.js';
import { type Check, describeChecks, reportAll } from './check.js';
import { createFakeHttp } from './fake-http.js';
import type { ImageProviderDefinition } from './image-definition.js';
import { imageFaultChecks } from './image-fault-checks.js';
import { decodeImage, formatOf, type ImageRun, imageOf, inventImage, runImage, willingUpstream } from './image-run.js';
import { leakedSecrets } from './secrets.js';
import { imageProviderOf, setUpPlugin } from './setup.js';

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
