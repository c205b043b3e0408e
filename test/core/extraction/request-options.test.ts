/** Request options of extractors: defaults, cache keys and refusals. */

import { expect } from 'chai';
import { createGateway, type Extractor, type GatewayError, type RequestOptions } from 'mediagate';
import { Type } from 'mediagate/plugin';
import { invented, inventedExtraction } from '../../support/links/invented-plugin.js';
import { inventedProduct, inventedShop, productLink } from '../../support/links/invented-shop.js';

const COMMENTS = Type.Object(
  {
    maxComments: Type.Integer({ minimum: 0, maximum: 50, default: 20 }),
    withReplies: Type.Optional(Type.Boolean()),
    words: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);
const ITEM = 'https://invented.example/item/7';

describe('request options of extractors', () => {
  /** Options of each extraction, in order. */
  let seen: RequestOptions[];

  const open = () => {
    seen = [];
    return createGateway({
      plugins: [
        {
          use: invented({
            requestOptions: COMMENTS,
            extract: async ({ link, options }) => {
              seen.push(options);
              return inventedExtraction(link.id);
            },
          }),
        },
        {
          use: inventedShop({
            extract: async ({ link, options }) => {
              seen.push(options);
              return inventedProduct(link.id);
            },
          }),
        },
      ],
    });
  };

  it('have defaults, and exclude options of other platforms', async () => {
    await using gateway = await open();
    await gateway.extract({ url: ITEM });
    await gateway.extract({ url: ITEM, options: { maxComments: 5, withReplies: true, clipSort: 'recommended' } });
    await gateway.extract({ url: productLink(1), options: { maxComments: 5, clipReviewLimit: 3 } });
    expect(seen).to.deep.equal([
      { maxComments: 20 },
      { maxComments: 5, withReplies: true },
      { clipReviewLimit: 3, clipSort: 'latest', includeEmptyReviews: false },
    ]);
  });

  it('are part of the cache key', async () => {
    await using gateway = await open();
    const use = async (options?: RequestOptions) => (await gateway.extract({ url: ITEM, options })).cache;
    expect(await use()).to.equal('miss');
    expect(await use({ maxComments: 20 })).to.equal('hit');
    expect(await use({ clipReviewLimit: 3 })).to.equal('hit');
    expect(await use({ maxComments: 21 })).to.equal('miss');
    expect(await use({ maxComments: 20, withReplies: false })).to.equal('miss');
    expect(await use({ words: 'a' })).to.equal('miss');
    for (const words of ['a:b', 'undefined', 'true', '\ud800', '\udfff', '"a"', '']) {
      expect(await use({ words }), JSON.stringify(words)).to.equal('miss');
      expect(await use({ words }), JSON.stringify(words)).to.equal('hit');
    }
  });

  it('are refused if no platform has them, or the value is invalid', async () => {
    await using gateway = await open();
    const refusal = async (options: RequestOptions) => {
      const error: GatewayError = await gateway.extract({ url: ITEM, options }).then(
        () => expect.fail('it was accepted'),
        (thrown: GatewayError) => thrown,
      );
      return [error.code, error.param, error.message];
    };
    expect(await refusal({ maxComment: 5 })).to.deep.equal([
      'unsupported_parameter',
      'maxComment',
      'No platform has the request option "maxComment". Did you mean "maxComments"?',
    ]);
    expect((await refusal({ constructor: 1 })).slice(0, 2)).to.deep.equal(['unsupported_parameter', 'constructor']);
    expect((await refusal({ maxComments: 51 })).slice(0, 2)).to.deep.equal(['invalid_value', 'maxComments']);
    expect((await refusal({ maxComments: '5' })).slice(0, 2)).to.deep.equal(['invalid_value', 'maxComments']);
    expect(seen).to.deep.equal([]);
  });

  it('must be valid without values, and have names in camelCase', async () => {
    const reasonOf = async (requestOptions: unknown) => {
      const more = { requestOptions } as Partial<Extractor>;
      await using gateway = await createGateway({ plugins: [{ use: invented(more) }] });
      return gateway.plugins()[0]?.reason;
    };
    expect(await reasonOf(Type.Object({ maxComments: Type.Integer() }))).to.match(
      /requestOptions must give each option a default, or make it optional: maxComments/,
    );
    expect(await reasonOf(Type.Object({ max_comments: Type.Integer({ default: 1 }) }))).to.match(
      /max_comments.*camelCase/,
    );
    expect(await reasonOf({ type: 'string' })).to.match(/requestOptions must be a JSON schema of an object/);
    expect(await reasonOf(undefined)).to.equal(undefined);
  });
});
