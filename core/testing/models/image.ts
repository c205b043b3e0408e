/*
 * The rules that every image provider must pass: sizes, formats, references and masks, odd prompts that must reach the
 * upstream unchanged, concurrent calls, failures of the upstream, and a caller who leaves. With an upstream, the image
 * must be passed on byte by byte; without one, it is decoded and must react to its input. `describeImageProvider`
 * registers the rules with the test runner.
 */

import assert from 'node:assert';
import { isGatewayError } from '../../runtime/index.js';
import { createFakeHttp } from '../fakes.js';
import { type Check, checksOf, describeChecks, reportAll, type Table, unless } from '../runner.js';
import { POLLING_RULES } from './image-polling-rules.js';
import {
  COLOURS,
  decodeImage,
  FORMATS,
  type ImageFormat,
  type ImageProviderDefinition,
  type ImageRun,
  imageCall,
  inventImage,
  inventMask,
  makes,
  providerOf,
} from './image-run.js';
import {
  bodiesOf,
  half,
  leavesBefore,
  leavesDuring,
  leavingAtOnce,
  modelNameProblems,
  ODD_TEXTS,
  UNREADABLE,
  WORDS,
} from './models.js';
import { commonFaults, type ModelFamily, upstreamRules } from './upstream-rules.js';

const SIZES = ['1024x1024', '1024x1536', '1536x1024', '1152x2048', '3840x1280', '16x16'] as const;
const PROMPTS: Readonly<Record<string, string>> = {
  ...ODD_TEXTS,
  controls: 'tab\t, null \u0000, escape \u001b[31m, turned \u202e round, half \ud800 pair',
  'one sign': '.',
  'very much': `A very ${'long and '.repeat(3_500)}winding road`.slice(0, 32_000),
};

const FAMILY: ModelFamily<ImageProviderDefinition, ImageRun> = {
  kind: 'image',
  calls: (definition) => [imageCall(definition)],
  faults: [
    ...commonFaults(1),
    { name: 'an empty body', codes: UNREADABLE, reply: () => ({ body: '' }) },
    { name: 'bytes that are no image', codes: UNREADABLE, reply: (valid) => valid(Buffer.from(WORDS)) },
    { name: 'an image of no bytes', codes: UNREADABLE, reply: (valid) => valid(Buffer.alloc(0)) },
    { name: 'an answer that is cut', codes: UNREADABLE, reply: async (valid) => half(await valid()) },
  ],
  refusal: {
    name: 'a blocked prompt is asked once, and told',
    expected: 'moderation_blocked',
    codes: ['moderation_blocked'],
    reply({ upstream }) {
      const hasRefusal = upstream?.moderation ?? upstream?.polling?.moderation ?? !upstream;
      assert(hasRefusal, 'the script of the upstream has no moderation');
      return upstream?.moderation;
    },
  },
};

const takesNone = ({ takesReferences }: ImageProviderDefinition) => takesReferences === false;

const IMAGE_RULES: Table<ImageProviderDefinition> = [
  {
    name: 'names its models',
    run: async (definition) => reportAll(modelNameProblems((await providerOf(definition)).models)),
  },
  {
    name: 'makes an image of words with each model',
    async run(definition) {
      for (const { id } of (await providerOf(definition)).models) await makes(definition, { model: id });
    },
  },
  ...SIZES.map((size) => ({
    name: `makes an image of ${size}`,
    run: (definition: ImageProviderDefinition) => withSize(definition, size),
  })),
  { name: 'makes an image of a size of its own', run: (definition) => makes(definition, { size: 'auto' }) },
  ...FORMATS.map((format) => ({
    name: `gives ${format} where it is asked for, or says that it does not`,
    run: (definition: ImageProviderDefinition) => asFormat(definition, format),
  })),
  { name: 'refuses references, and asks nobody', applies: takesNone, run: refusesReferences },
  ...[1, 2, 3, 4].map((count) => ({
    name: `uses ${count} reference${count === 1 ? '' : 's'}`,
    applies: (definition: ImageProviderDefinition) => !takesNone(definition),
    run: (definition: ImageProviderDefinition) => withReferences(definition, count),
  })),
  {
    name: 'uses the mask of a reference, where a model takes one',
    applies: (definition: ImageProviderDefinition) => !takesNone(definition),
    run: withMask,
  },
  ...Object.entries(PROMPTS).map(([name, prompt]) => ({
    name: `takes a prompt as words: ${name}`,
    run: (definition: ImageProviderDefinition) => makes(definition, { prompt }),
  })),
  { name: 'leaves what it is given alone', run: leavesAlone },
  { name: 'keeps calls beside each other apart', run: apart },
  ...upstreamRules(FAMILY),
  ...POLLING_RULES,
  {
    name: 'ends at once when the caller leaves',
    async run(definition) {
      // Large enough that no call completes before the caller has disconnected.
      const call = imageCall(definition, { size: { width: 3840, height: 2160 } });
      await leavesBefore(call);
      await leavesDuring(definition.upstream ? call : leavingAtOnce(call));
    },
  },
];

/** Checks that every image provider must pass. */
export function imageProviderChecks(definition: ImageProviderDefinition): Check[] {
  return checksOf(IMAGE_RULES, definition);
}

/** Registers {@link imageProviderChecks} with the test runner's global `describe` and `it`. */
export function describeImageProvider(definition: ImageProviderDefinition): void {
  describeChecks(`image provider ${definition.plugin.name}`, imageProviderChecks(definition));
}

async function withSize(definition: ImageProviderDefinition, text: string): Promise<void> {
  const [width = 0, height = 0] = text.split('x').map(Number);
  const { image } = await makes(definition, { size: { width, height } });
  if (definition.upstream) return;
  // A provider without an upstream has no reason to ignore settings.
  const made = await decodeImage(image.bytes);
  assert.equal(`${made.width}x${made.height}`, text, 'the image has another size than was asked for');
}

async function asFormat(definition: ImageProviderDefinition, format: ImageFormat): Promise<void> {
  const { image } = await makes(definition, { options: { output_format: format } });
  const [model] = (await providerOf(definition)).models;
  const isDeclared = model?.formats.some((one) => image.contentType === `image/${one}`);
  assert(isDeclared, `it is ${image.contentType}, which the formats of ${model?.id} do not name`);
  if (image.contentType === `image/${format}`) return;
  const isWarned = image.warnings?.some(({ setting }) => setting === 'output_format') ?? false;
  assert(isWarned, `it is ${image.contentType}, and no warning names output_format`);
}

async function withReferences(definition: ImageProviderDefinition, count: number): Promise<void> {
  const [model] = (await providerOf(definition)).models;
  if (model && count > model.maxReferences) return;
  const references = await Promise.all(
    COLOURS.slice(0, count).map((colour, index) =>
      inventImage({ width: 90 + 20 * index, height: 70 }, FORMATS[index % FORMATS.length] ?? 'png', colour),
    ),
  );
  const { image, requests } = await makes(definition, { references });
  if (definition.upstream) {
    const sent = bodiesOf(requests);
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

async function withMask(definition: ImageProviderDefinition): Promise<void> {
  const model = (await providerOf(definition)).models.find(({ takesMask }) => takesMask);
  if (!model) return;
  assert(model.maxReferences > 0, `${model.id} takes a mask, and no reference that it could belong to`);
  const size = { width: 96, height: 64 };
  const edit = { model: model.id, references: [await inventImage(size, 'png', COLOURS[0])] };
  const [left, right] = await Promise.all([inventMask(size, 0), inventMask(size, size.width / 2)]);
  const { image, requests } = await makes(definition, { ...edit, mask: left });
  if (definition.upstream) {
    const sent = bodiesOf(requests);
    assert(indexOfBytes(sent, Buffer.from(left.bytes), 0) >= 0, 'the mask was not sent');
    return;
  }
  const { image: other } = await makes(definition, { ...edit, mask: right });
  const [one, two] = await Promise.all([decodeImage(image.bytes), decodeImage(other.bytes)]);
  assert(!one.pixels.equals(two.pixels), 'another mask makes no difference');
}

async function refusesReferences(definition: ImageProviderDefinition): Promise<void> {
  const references = [await inventImage({ width: 90, height: 70 }, 'png', COLOURS[0])];
  const { run, answer } = imageCall(definition, { references });
  const http = createFakeHttp(answer);
  const taking = (await providerOf(definition)).models.filter(({ maxReferences }) => maxReferences > 0);
  reportAll(taking.map(({ id, maxReferences }) => `maxReferences of ${id} is ${maxReferences}, not 0`));
  const { error } = await run({ http });
  assert(isGatewayError(error), `it answered a reference with ${error ?? 'an image'}`);
  reportAll([
    ...unless(error.code === 'unsupported_value', `the code is ${error.code}, not unsupported_value`),
    ...unless(error.param === 'image', `the param is ${error.param}, not image`),
    ...unless(http.requests.length === 0, `it made ${http.requests.length} requests`),
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
  const madeWidths = made.map(({ width }) => width);
  if (!definition.upstream) assert.deepEqual(madeWidths, widths);
}
