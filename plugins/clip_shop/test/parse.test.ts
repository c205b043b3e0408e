/** What the shop plugin reads from pages: links, prices, stock, reviews and images. */

import { expect } from 'chai';
import { matchedLink, type Review } from 'mediagate/plugin';
import { matchProduct } from '../links.js';
import { readVariants } from '../read/details.js';
import { readAmount, readPrice } from '../read/price.js';
import { groupReviews, type ReviewOptions, readReviews } from '../read/reviews.js';
import { readImageUrl } from '../read/values.js';

const ID = '1729400000000011111';
const OPTIONS: ReviewOptions = { clipReviewLimit: 2, clipSort: 'latest', includeEmptyReviews: false };

describe('clip_shop: links', () => {
  const match = (text: string) => matchedLink(matchProduct(new URL(text)));

  it('reads the market from the link, and otherwise uses the default market', () => {
    expect(match(`https://shop.tiktok.com/th/pdp/x/${ID}`)).to.deep.equal({
      kind: 'product',
      id: ID,
      url: `https://shop.tiktok.com/th/pdp/${ID}`,
      region: 'TH',
    });
    expect(match(`https://www.tiktok.com/view/product/${ID}?region=th`)?.region).to.equal('TH');
    expect(match(`https://shop.tiktok.com/uk/pdp/${ID}`)?.region).to.equal('GB');
    expect(match(`https://shop.tiktok.com/us/pdp/${ID}`)).to.deep.equal(match(`https://www.tiktok.com/shop/pdp/${ID}`));
  });

  it('lets the path win over the query', () => {
    expect(match(`https://shop.tiktok.com/gb/pdp/${ID}?region=US`)?.region).to.equal('GB');
  });

  it('reports what the link is if it is no product', () => {
    for (const [text, kind] of [
      ['https://www.tiktok.com/shop/store/a/7495000000000000070', "a shop's page"],
      ['https://www.tiktok.com/shop/c/a/601152', 'a category'],
      ['https://seller-us.tiktok.com/', 'a page for sellers'],
    ] as const) {
      expect(matchProduct(new URL(text)), text).to.deep.equal({ unsupported: kind });
    }
  });
});

describe('clip_shop: prices', () => {
  it('reads notations of several languages', () => {
    const read = (text: unknown) => readAmount(text).value;
    expect(['24.17', '1,299.00', '1.299,00 €', 'Rp12.345', '฿1,290', '£9,5', "1'234.50", 19].map(read)).to.deep.equal([
      24.17, 1299, 1299, 12345, 1290, 9.5, 1234.5, 19,
    ]);
    expect(['', '0', '0.00', 'free', '$24.17 - 24.69', null, -3].map(read)).to.deep.equal(Array(7).fill(undefined));
  });

  it('ignores the digits of a masked price', () => {
    for (const text of ['$2?', '2?', '1*.99', '2？']) expect(readAmount(text)).to.deep.equal({ masked: true });
  });

  it('leaves out a discount that contradicts the prices, and keeps the prices', () => {
    const found = readPrice({
      product_base: {
        price: { min_sku_price: '50', min_sku_original_price: '100', discount: '-20%', currency: 'EUR' },
      },
    });
    expect(found.price).to.deep.equal({ amount: 50, min: 50, currency: 'EUR', original_amount: 100 });
    expect(found.masked).to.equal(false);
  });

  it('leaves out a range if one of its ends is masked', () => {
    const found = readPrice({
      product_base: { price: { min_sku_price: '2?', max_sku_price: '29.99', currency: 'USD' } },
    });
    expect(found).to.deep.equal({ price: { currency: 'USD' }, masked: true, words: {} });
  });

  it('uses the variants if the page has no range, and only if all have a price', () => {
    const sku = (value: string) => ({ price: { real_price: { price_val: value, currency: 'USD' } } });
    expect(readPrice({ skus: [sku('12.50'), sku('9.99')] }).price).to.include({ amount: 9.99, min: 9.99, max: 12.5 });
    expect(readPrice({ skus: [sku('12.50'), sku('1?')] })).to.deep.include({
      price: { currency: 'USD' },
      masked: true,
    });
  });
});

describe('clip_shop: stock', () => {
  const stock = (...skus: readonly object[]) => readVariants({ skus }).stock;

  it('is unknown if the stock of a variant is unknown', () => {
    expect(stock({ sku_id: '11', stock: 4 }, { sku_id: '12', stock: '5' })).to.equal(9);
    expect(stock({ sku_id: '11', stock: 0 })).to.equal(0);
    expect(stock({ sku_id: '11', stock: 4 }, { sku_id: '12' })).to.equal(undefined);
    expect(stock()).to.equal(undefined);
  });

  it('counts a variant once', () => {
    const sku = { sku_id: '11', stock: 4 };
    expect(readVariants({ skus: [sku, sku] })).to.deep.equal({ variants: [{ id: '11', stock: 4 }], stock: 4 });
  });
});

describe('clip_shop: reviews', () => {
  const review = (id: string, rating: number, text: string | undefined, created_at: string): Review => ({
    id,
    rating,
    ...(text && { text }),
    created_at,
    images: [],
  });
  const inPages = [
    review('1', 5, 'first', '2026-01-01T00:00:00Z'),
    review('2', 5, undefined, '2026-03-01T00:00:00Z'),
    review('3', 1, 'bad', '2026-02-01T00:00:00Z'),
    review('4', 5, 'later', '2026-02-01T00:00:00Z'),
    review('1', 5, 'first', '2026-01-01T00:00:00Z'),
    review('5', 5, 'latest', '2026-04-01T00:00:00Z'),
  ];
  const ids = (options: Partial<ReviewOptions>, total?: number) =>
    groupReviews({ stars: 5, inPages, walks: [], total, options: { ...OPTIONS, ...options } }).reviews.map(
      ({ id }) => id,
    );

  it('are sorted, limited, distinguished by id, and have text unless empty ones are requested', () => {
    expect(ids({})).to.deep.equal(['5', '4']);
    expect(ids({ clipReviewLimit: 9 })).to.deep.equal(['5', '4', '1']);
    expect(ids({ clipSort: 'recommended' })).to.deep.equal(['1', '4']);
    expect(ids({ includeEmptyReviews: true, clipReviewLimit: 9 })).to.deep.equal(['5', '2', '4', '1']);
  });

  it('are complete if the total matches', () => {
    const group = (total: number) =>
      groupReviews({ stars: 5, inPages, walks: [], total, options: { ...OPTIONS, clipReviewLimit: 9 } });
    expect(group(4)).to.include({ wanted: 3, asked: true });
    expect(group(40)).to.include({ wanted: 9, asked: false });
    expect(groupReviews({ stars: 1, inPages: [], walks: [], total: 0, options: OPTIONS })).to.deep.equal({
      reviews: [],
      wanted: 0,
      asked: true,
    });
  });

  it('of another product, or without stars, are dropped', () => {
    const list = [
      { review_id: '10', product_id: ID, review_rating: 5, review_text: 'mine', review_time: '1781100000445' },
      { review_id: '11', product_id: '1732400000000033333', review_rating: 5, review_text: 'not mine' },
      { review_id: '12', product_id: ID, review_text: 'no stars' },
      { review_id: '13', product_id: ID, review_rating: 6, review_text: 'too many' },
      'spoiled',
      null,
    ];
    expect(readReviews(list, ID)).to.deep.equal([
      { id: '10', rating: 5, text: 'mine', created_at: '2026-06-10T14:00:00.445Z', images: [] },
    ]);
  });
});

describe('clip_shop: images', () => {
  it('are found in every notation', () => {
    const url = 'https://p16.ttcdn-us.com/a.webp';
    for (const value of [
      url,
      '//p16.ttcdn-us.com/a.webp',
      { url_list: [url, 'x'] },
      { url },
      { image: { url_list: [url] } },
    ])
      expect(readImageUrl(value)).to.equal(url);
    for (const value of ['javascript:alert(1)', {}, { url_list: [] }, null, 7])
      expect(readImageUrl(value)).to.equal(undefined);
  });
});
