/** Wrong image providers, each found by the kit. */

import { expect } from 'chai';
import { GatewayError, type GeneratedImage, type ImageCall, type ImageProvider } from 'mediagate';
import { type ImageProviderDefinition, imageProviderChecks } from '../../../core/testing/index.js';
import { decodeImage, formatOf, inventImage } from '../../../core/testing/models/image-run.js';
import { imageModel } from '../../support/images/invented-image.js';
import { firstVariants } from '../../support/runner/variants.js';
import {
  askingElsewhere,
  type Context,
  failing,
  failureOf,
  imageOf,
  inventedProvider,
  KEY,
  wrongCalls,
} from './invented-provider.js';

type Make = (call: ImageCall, context: Context) => Promise<GeneratedImage>;

function definition(
  make: Make,
  more: Partial<ImageProvider> = {},
): Pick<ImageProviderDefinition, 'plugin' | 'options'> {
  return inventedProvider('image', (context) => ({
    imageProviders: [{ models: [imageModel('invented-1')], generate: (call) => make(call, context), ...more }],
  }));
}

/** An upstream that answers with the image as it is. */
const asking: Make = async (call, context) => {
  const { status, body } = await send(call, context);
  refuse(status);
  const image = imageOf(body);
  await decodeImage(image.bytes).catch(() => {
    throw new GatewayError('upstream_changed', 'This is no image.');
  });
  return image;
};

function send(call: ImageCall, { http, options: { key = '' } }: Context) {
  call.signal.throwIfAborted();
  const inputs = [...call.references, ...(call.mask ? [call.mask] : [])];
  const images = inputs.map(({ bytes }) => Buffer.from(bytes).toString('base64'));
  return http.request({
    url: 'https://invented.example/images',
    method: 'POST',
    headers: { authorization: key },
    body: JSON.stringify({ prompt: call.prompt, format: call.options.output_format, images }),
    signal: call.signal,
  });
}

function refuse(status: number): void {
  if (status === 400) throw new GatewayError('moderation_blocked', 'Blocked.');
  if (status !== 200) throw failureOf(status);
}

const upstream: ImageProviderDefinition['upstream'] = {
  image: (_request, bytes) => ({ body: bytes }),
  moderation: { status: 400, body: { error: 'blocked' } },
};

describe('the testing kit for image providers', () => {
  describe('with an upstream', () => {
    const check = (make: Make, more?: Partial<ImageProvider>, only?: readonly string[]) =>
      failing(imageProviderChecks({ ...definition(make, more), secrets: [KEY], upstream }), only);
    const altering =
      (change: (image: GeneratedImage) => GeneratedImage): Make =>
      async (call, context) =>
        change(await asking(call, context));
    const wrongly = wrongCalls(asking, {
      usual: 'makes an image of 1024x1024',
      refusal: 'a blocked prompt is asked once, and told',
      refusalCode: 'moderation_blocked',
      leaving: ['ends at once when the caller leaves'],
    });

    it('passes one that keeps to the rules', async () => expect(await check(asking)).to.deep.equal([]));

    const wrong: Readonly<Record<string, { make: Make; more?: Partial<ImageProvider>; finds: readonly string[] }>> = {
      'a model named twice': {
        make: asking,
        more: { models: [imageModel('one'), imageModel('one')] },
        finds: ['names its models'],
      },
      'no models': { make: asking, more: { models: [] }, finds: ['names its models'] },
      'a format that the model does not name': {
        make: asking,
        more: { models: [imageModel('invented-1', { formats: ['png', 'jpeg'] })] },
        finds: ['gives webp where it is asked for, or says that it does not'],
      },
      'a media type that is not that of the bytes': {
        make: altering((image) => ({ ...image, contentType: 'image/png' })),
        finds: ['gives jpeg where it is asked for, or says that it does not'],
      },
      'bytes that are changed on the way': {
        make: altering((image) => ({ ...image, bytes: Buffer.concat([image.bytes, Buffer.from([0])]) })),
        finds: ['makes an image of 1024x1024', 'makes an image of words with each model'],
      },
      'references in the wrong order': {
        make: (call, context) => asking({ ...call, references: [...call.references].reverse() }, context),
        finds: ['uses 2 references', 'uses 3 references', 'uses 4 references'],
      },
      'a reference too few': {
        make: (call, context) => asking({ ...call, references: call.references.slice(0, 3) }, context),
        finds: ['uses 4 references'],
      },
      'a mask that is left out': {
        make: ({ mask: _, ...call }, context) => asking(call, context),
        finds: ['uses the mask of a reference, where a model takes one'],
      },
      'a prompt that is cut': {
        make: (call, context) => asking({ ...call, prompt: call.prompt.slice(0, 4_000) }, context),
        finds: ['takes a prompt as words: very much'],
      },
      'a prompt that is escaped': {
        make: (call, context) => asking({ ...call, prompt: call.prompt.replaceAll('<', '&lt;') }, context),
        finds: ['takes a prompt as words: markup'],
      },
      'usage that is no number': {
        make: altering((image) => ({ ...image, usage: { totalTokens: Number.NaN } })),
        finds: ['makes an image of 1024x1024'],
      },
      "the upstream's words in an error": {
        make: async (call, context) => {
          const response = await send(call, context);
          if (response.status === 500) throw new GatewayError('upstream_error', response.text());
          return asking(call, context);
        },
        finds: ['HTTP 500 is named'],
      },
      'anything that comes as an image': {
        make: async (call, context) => {
          const { status, body } = await send(call, context);
          refuse(status);
          return { bytes: body, contentType: 'image/png' };
        },
        finds: [
          'an empty body is named',
          'a page is named',
          'bytes that are no image is named',
          'an answer that is cut is named',
        ],
      },
    };

    for (const [name, { make, more, finds }] of firstVariants(Object.entries(wrong), ([, { finds }]) => finds)) {
      it(`finds ${name}`, async () => expect(await check(make, more, finds)).to.have.members([...finds]));
    }
    for (const [name, { ask, finds }] of firstVariants(Object.entries(wrongly), ([, { finds }]) => finds)) {
      it(`finds ${name}`, async () => expect(await check(ask, {}, finds)).to.have.members([...finds]));
    }
  });

  describe('without references', () => {
    const refuses = 'refuses references, and asks nobody';
    const none = imageModel('invented-1', { maxReferences: 0 });
    const check = (make: Make, only?: readonly string[], model = none) =>
      failing(
        imageProviderChecks({ ...definition(make, { models: [model] }), upstream, takesReferences: false }),
        only,
      );
    const refusing =
      (error: GatewayError): Make =>
      async (call, context) => {
        if (call.references.length > 0) throw error;
        return asking(call, context);
      };
    const unsupported = new GatewayError('unsupported_value', 'It takes no input images.', { param: 'image' });

    it('passes one that refuses them', async () => expect(await check(refusing(unsupported))).to.deep.equal([]));

    it('finds a model that claims to take some', async () =>
      expect(await check(refusing(unsupported), [refuses], imageModel('invented-1'))).to.deep.equal([refuses]));

    const wrong: Readonly<Record<string, Make>> = {
      'one that uses them': asking,
      'one that leaves them out': (call, context) => asking({ ...call, references: [] }, context),
      'another code': refusing(new GatewayError('upstream_error', 'It failed.', { param: 'image' })),
      'a refusal that does not say what of': refusing(new GatewayError('unsupported_value', 'No.')),
      'a refusal after a request': async (call, context) => {
        const image = await asking(call, context);
        if (call.references.length > 0) throw unsupported;
        return image;
      },
    };
    for (const [name, make] of Object.entries(wrong)) {
      it(`finds ${name}`, async () => expect(await check(make, [refuses])).to.deep.equal([refuses]));
    }
  });

  describe('without one', () => {
    const check = (make: Make, only?: readonly string[]) => failing(imageProviderChecks(definition(make)), only);
    /** Of one colour, which the last reference decides, and the first pixel of a mask. */
    const drawing: Make = async ({ size, references, mask, options: { output_format }, signal }) => {
      signal.throwIfAborted();
      const last = references.at(-1);
      const colour = last ? [...(await decodeImage(last.bytes)).pixels.subarray(0, 3)] : [9, 9, 9];
      if (mask) colour[0] = (await decodeImage(mask.bytes)).pixels[3] ?? 0;
      // As one that takes some time.
      await new Promise((resolve) => setTimeout(resolve, 20));
      signal.throwIfAborted();
      const canvas = size === 'auto' ? { width: 64, height: 64 } : size;
      return inventImage(canvas, formatOf(output_format), `rgb(${colour.join(',')})`);
    };

    it('passes one that keeps to the rules', async () => expect(await check(drawing)).to.deep.equal([]));

    const wrong: Readonly<Record<string, { make: Make; finds: readonly string[] }>> = {
      'one size for all': {
        make: (call, context) => drawing({ ...call, size: 'auto' }, context),
        finds: ['makes an image of 1024x1024', 'makes an image of 16x16', 'keeps calls beside each other apart'],
      },
      'references that make no difference': {
        make: (call, context) => drawing({ ...call, references: [] }, context),
        finds: ['uses 1 reference', 'uses 4 references'],
      },
      'a mask that makes no difference': {
        make: ({ mask: _, ...call }, context) => drawing(call, context),
        finds: ['uses the mask of a reference, where a model takes one'],
      },
      'a format that is ignored in silence': {
        make: (call, context) => drawing({ ...call, options: {} }, context),
        finds: ['gives jpeg where it is asked for, or says that it does not'],
      },
      'a reference that is painted over': {
        make: async (call, context) => {
          call.references[0]?.bytes.fill(0);
          return drawing({ ...call, references: [] }, context);
        },
        finds: ['leaves what it is given alone'],
      },
      'a secret request': {
        make: askingElsewhere(drawing),
        finds: ['makes an image of 1024x1024'],
      },
      'an image that is cut': {
        make: async (call, context) => {
          const image = await drawing(call, context);
          return { ...image, bytes: image.bytes.subarray(0, image.bytes.length - 20) };
        },
        finds: ['makes an image of words with each model'],
      },
    };
    for (const [name, { make, finds }] of firstVariants(Object.entries(wrong), ([, { finds }]) => finds)) {
      it(`finds ${name}`, async () => expect(await check(make, finds)).to.have.members([...finds]));
    }
  });
});
