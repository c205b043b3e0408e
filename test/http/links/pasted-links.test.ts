/** Pasted links over HTTP in single, batched and background requests. */

import { expect } from 'chai';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedExtraction } from '../../support/links/invented-plugin.js';
import { inventedProduct, productLink } from '../../support/links/invented-shop.js';
import { onceIt } from '../../support/runner/variants.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';

const enc = encodeURIComponent;

/** The link of one item, as people paste it. */
const pasted = (link: string) => [
  link.replace('https://', ''),
  `  ${link.slice(0, 22)}\r\n${link.slice(22)} `,
  `<${link}>.`,
  `[an item](${link})`,
  `\u200b${link}\u2060),`,
  `${link.toUpperCase().slice(0, 18)}${link.slice(18)}`,
  link.replace(/\/(item|product)\//, (word) => word.toUpperCase()),
  `https://l.facebook.com/l.php?u=${enc(link)}&amp;h=x`,
  `https://www.google.com/url?q=${enc(`https://consent.youtube.com/m?continue=${enc(link)}`)}`,
  enc(link),
];

describeOnStacks('pasted links of any plugin', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let key: string;
  let fetches: string[] = [];

  before(async () => {
    app = await startApp({
      stack,
      extractor: {
        linkForms: ['https://invented.example/item/{id}'],
        async extract({ link }) {
          fetches.push(link.id);
          return inventedExtraction(link.id);
        },
      },
      shop: {
        linkForms: ['https://bazaar.example/product/{id}'],
        async extract({ link }) {
          fetches.push(link.id);
          return inventedProduct(link.id);
        },
      },
    });
    key = await app.makeKey();
  });
  beforeEach(() => {
    fetches = [];
  });
  after(() => app.close());

  once('share one cached result, and come back as they were sent', async () => {
    expect((await app.extract(key, { url: LINK })).headers.get('x-cache')).to.equal('miss');
    for (const url of pasted(LINK)) {
      const { status, json, headers } = await app.extract(key, { url });
      expect(status, url).to.equal(200);
      expect([json.input_url, json.data.ids.video_id, headers.get('x-cache')], url).to.deep.equal([url, '7', 'hit']);
    }
    expect(fetches).to.deep.equal(['7']);
  });

  once('share one extraction of a batch', async () => {
    const urls = pasted('https://invented.example/item/21');
    const { json } = await app.batch(key, {
      urls: [...urls, 'https://l.facebook.com/l.php?u=https%3A%2F%2Fevil.example'],
    });
    expect(json).to.include({ count: urls.length + 1, succeeded: urls.length, failed: 1 });
    expect(json.items.slice(0, -1).map(({ url }: { url: string }) => url)).to.deep.equal(urls);
    expect(json.items.at(-1).error).to.include({ code: 'unsupported_platform' });
    expect(fetches).to.deep.equal(['21']);
  });

  it('share one background job', async () => {
    const ids = new Set<string>();
    for (const url of pasted(productLink(31))) {
      const { status, json } = await app.extract(key, { url, async_mode: true });
      expect(status, url).to.equal(200);
      if (json.data.job) {
        expect(json.input_url).to.equal(url);
        ids.add(json.data.job.job_id);
        expect((await app.ended(key, json.data.job.job_id)).json.data.product.product_id).to.equal('31');
      } else expect(json.data.product.product_id, url).to.equal('31');
    }
    expect(ids.size).to.equal(1);
    expect(fetches).to.deep.equal(['31']);
  });

  once('are accepted by oEmbed and in the format of yt-dlp', async () => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    for (const url of pasted(LINK)) {
      const embedded = await app.request(`/v1/oembed?url=${enc(url)}`, { headers });
      expect([embedded.status, embedded.json.title], url).to.deep.equal([200, 'Item 7']);
      const body = JSON.stringify({ url });
      const info = await app.request('/v1/extract?format=yt-dlp', { method: 'POST', headers, body });
      // The invented item has no file; the link is read all the same.
      expect(info.json.error?.code ?? 'found', url).to.be.oneOf(['found', 'unsupported_value']);
    }
  });

  once('report the same errors', async () => {
    const codeOf = async (url: unknown) => {
      const { status, json } = await app.extract(key, { url });
      return `${status} ${json.error.code} ${json.error.param}`;
    };
    for (const url of ['', 'no link', 'javascript:alert(1)', 'https://me@invented.example/item/7', `${LINK}\\`]) {
      expect(await codeOf(url), url).to.equal('400 invalid_url url');
    }
    expect(await codeOf(`${LINK}?x=${'a'.repeat(2_048)}`)).to.match(/^400 invalid_(?:url|value) url$/);
    expect(await codeOf('evil.example/item/7')).to.equal('400 unsupported_platform url');
    expect(await codeOf(`https://l.facebook.com/l.php?u=${enc('https://invented.example:81/item/7')}`)).to.equal(
      '400 unsupported_link url',
    );
    expect(fetches).to.deep.equal([]);
  });
});
