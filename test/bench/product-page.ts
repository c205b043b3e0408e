/** Builds an invented product page for the benchmarks of parsing. */

import { jsonScript, program, query, range, styles } from './page-parts.js';
import { createRandom, type Random } from './random.js';

/**
 * A product's page of about half a megabyte: the data it was rendered from holds the product with its variants and
 * reviews among a dozen components, and products of others below. All of it is invented.
 */
export function buildProductPage(productId: string): string {
  const random = createRandom(productId);
  const component = (component_type: string, component_data?: unknown) => ({
    component_type,
    component_name: component_type,
    fe_config: { experiment: random.word(20) },
    ...(component_data !== undefined && { component_data }),
  });
  const components = [
    component('user_info'),
    component('page_header', { links: range(40, () => ({ name: random.sentence(2), link: address(random) })) }),
    component('feed_list_similar', { feed: range(60, (index) => otherProduct(random, index)) }),
    component('product_info', {
      categories: range(3, (level) => ({ category_id: String(600 + level), level, category_name: random.sentence(1) })),
      sale_region: 'US',
      error_code: 0,
      product_info: product(random, productId),
    }),
    component('feed_list_shop', { feed: range(60, (index) => otherProduct(random, 100 + index)) }),
    component('page_footer', { links: range(60, () => ({ name: random.sentence(2), link: address(random) })) }),
  ];
  const page = {
    basic_info: { lang: 'en', is_mobile: false },
    bot_info: { is_bot: false },
    region_info: { path_region: 'US', real_region: 'US' },
    page_config: { global_fe_config: {}, components_map: components },
  };
  const data = { loaderData: { layout: null, 'shop/pdp/(product_name_slug$)/(product_id)/page': page }, errors: null };
  return [
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Generated teapot - TikTok Shop</title>',
    `<style>${styles(random, 60_000)}</style></head><body><div id="root">${markup(random, 90_000)}</div>`,
    jsonScript(data, ' id="__MODERN_ROUTER_DATA__"'),
    `<script>${program(random, 6_000)}</script></body></html>`,
  ].join('\n');
}

function markup(random: Random, length: number): string {
  const pieces = Math.ceil(length / 100);
  return range(
    pieces,
    () => `<div class="${random.word(12)}"><span class="${random.word(12)}">${random.sentence(5)}</span></div>`,
  ).join('');
}

function address(random: Random): string {
  return `https://www.tiktok.com/shop/${random.word(20)}?${query(random, 2)}`;
}

function image(random: Random): object {
  const uri = random.word(32);
  const hosts = ['p16-oec-generated.ttcdn.example', 'p19-oec-generated.ttcdn.example'];
  return {
    height: 800,
    width: 800,
    uri,
    url_list: hosts.map((host) => `https://${host}/${uri}~800.webp?${query(random, 3)}`),
  };
}

function otherProduct(random: Random, index: number): object {
  return {
    product_id: `17294999999999${String(index).padStart(5, '0')}`,
    title: random.sentence(12),
    image: image(random),
    product_price_info: { sale_price_decimal: '9.99', currency: 'USD', discount_format: '12%' },
    sold_info: { sold_count: 90_001 + index },
    rate_info: { score: 4.6, review_count: '512' },
    seo_url: { canonical_url: address(random) },
    product_marketing_info: range(3, () => ({ kind: random.word(10), text: random.sentence(4) })),
  };
}

function product(random: Random, product_id: string): object {
  const price = (value: string) => ({ price_str: `$${value}`, price_val: value, currency: 'USD' });
  const props = [8, 6].map((count, index) => ({
    prop_id: String(100_000 + index),
    prop_name: ['Colour', 'Size'][index],
    has_image: index === 0,
    sale_prop_values: range(count, (value) => ({
      prop_value_id: String(7_000 + index * 100 + value),
      prop_value: random.sentence(1),
      ...(index === 0 && { image: image(random) }),
    })),
  }));
  const [colours, sizes] = props.map(({ prop_id, prop_name, sale_prop_values }) =>
    sale_prop_values.map(({ prop_value_id, prop_value }) => ({ prop_id, prop_name, prop_value_id, prop_value })),
  );
  const skus = (colours ?? []).flatMap((colour, row) =>
    (sizes ?? []).map((size, column) => ({
      sku_id: `17294000000000${String(row * 100 + column).padStart(5, '0')}`,
      sku_sale_props: [colour, size],
      stock: 12 + row,
      purchase_limit: 20,
      price: { real_price: price('24.90'), original_price: '$31.50', discount: '-21%', original_price_value: '31.50' },
      warehouse_id: random.word(19),
      status: 1,
    })),
  );
  const sellerId = '7495000000000000070';
  const description = range(24, (index) =>
    index % 2 === 0 ? { type: 'image', image: image(random) } : { type: 'text', text: random.sentence(20) },
  );
  return {
    product_id,
    status: 1,
    seller_id: sellerId,
    seller: { seller_id: sellerId, name: 'Generated Pottery', avatar: image(random), product_count: 37, status: 2 },
    product_base: {
      title: 'Generated stoneware teapot with a bamboo handle',
      desc_detail: JSON.stringify(description),
      images: range(9, () => image(random)),
      specifications: range(10, () => ({ name: random.sentence(1), value: random.sentence(2) })),
      sold_count: 4_127,
      price: {
        real_price: '$24.90',
        min_sku_price: '24.90',
        max_sku_price: '24.90',
        currency: 'USD',
        currency_symbol: '$',
      },
    },
    sale_props: props,
    skus,
    product_detail_review: {
      product_rating: 4.6,
      review_count: 318,
      review_items: range(40, (index) => review(random, index)),
    },
  };
}

function review(random: Random, index: number): object {
  return {
    review: {
      review_id: `73976859973300${String(index).padStart(5, '0')}`,
      rating: index % 5 === 4 ? 1 : 5,
      display_text: random.sentence(18),
      images: range(2, () => image(random)),
      review_timestamp: String(1_779_000_000_100 + index),
    },
    sku_specification: `Item: ${random.sentence(1)}`,
    review_user: { name: random.sentence(2), avatar: image(random) },
  };
}
