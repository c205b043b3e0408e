/** HEAD like GET, and model ids in paths. */

import { expect } from 'chai';
import { scriptedText } from '../../support/models/scripted-text.js';
import { startApp } from './listening-app.js';

const IDS = ['vendor/llama-3:8b@q4', 'a/b/c', 'qwen3:32b', 'models/é', 'org/with space+plus'] as const;

describe('GET and HEAD', () => {
  it('answer the same, and HEAD has no body', async () => {
    const app = await startApp({ messages: true, publicMetrics: true });
    try {
      const headers = {
        authorization: `Bearer ${await app.makeKey({ grants: ['text', 'images', 'audio', 'extract'] })}`,
      };
      const paths = app
        .declaredRoutes()
        .filter(({ method }) => method === 'GET')
        .map(({ path }) => path.replace(/:\w+/g, 'x'));
      expect(paths).to.include('/v1/models');
      for (const path of paths) {
        const get = await app.request(path, { headers });
        const head = await app.request(path, { method: 'HEAD', headers });
        expect([head.status, head.text], path).to.deep.equal([get.status, '']);
        expect(head.headers.get('content-type'), path).to.equal(get.headers.get('content-type'));
        expect(head.headers.get('content-length'), path).to.match(/^[1-9]\d*$/);
      }
      const hello = await app.request('/api/hello', { method: 'HEAD' });
      expect([hello.status, hello.headers.get('content-length'), hello.text]).to.deep.equal([200, '19', '']);
      const refused = await app.request('/v1/chat/completions', { method: 'HEAD', headers });
      expect([refused.status, refused.headers.get('allow'), refused.text]).to.deep.equal([405, 'POST', '']);
    } finally {
      await app.close();
    }
  });

  it('accept a model id with slashes, colons and @, encoded or not', async () => {
    const { plugin } = scriptedText(() => ({ pieces: [] }), {
      models: IDS.map((id) => ({ id, routes: ['responses'], efforts: [] })),
    });
    const app = await startApp({ gateway: { plugins: [{ use: plugin }] } });
    try {
      const headers = { authorization: `Bearer ${await app.makeKey({ grants: ['text'] })}` };
      for (const id of IDS) {
        const encoded = encodeURIComponent(id);
        for (const path of [encoded, encoded.replace(/%2F/g, '/'), encoded.replace('%2F', '/'), encodeURI(id)]) {
          const get = await app.request(`/v1/models/${path}`, { headers });
          expect([get.status, get.json.id], path).to.deep.equal([200, id]);
          const head = await app.request(`/v1/models/${path}`, { method: 'HEAD', headers });
          expect([head.status, head.headers.get('content-length')]).to.deep.equal([
            200,
            get.headers.get('content-length'),
          ]);
        }
      }
      const missing = await app.request('/v1/models/vendor/none', { headers });
      expect([missing.status, missing.json.error.code]).to.deep.equal([404, 'model_not_found']);
      expect(missing.json.error.message).to.contain('"vendor/none"');
      const wrong = await app.request('/v1/models/vendor/none', { method: 'POST', headers });
      expect([wrong.status, wrong.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD']);
      const line = app.log.find(({ fields }) => fields.status === 200 && fields.method === 'GET');
      expect(line?.fields.route).to.equal('/v1/models/:id');
    } finally {
      await app.close();
    }
  });
});
