/** The manifest for the runner of a public gateway board. */

import { access, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import { deriveKey } from '../../server/keys/keys.js';
import { packageRoot } from '../support/package-root.js';

const folder = path.join(packageRoot, 'test', 'bench', 'board-manifest');

describe('the manifest for a gateway board', () => {
  it('names the key that the launcher inserts, and files that exist', async () => {
    const manifest = JSON.parse(await readFile(path.join(folder, 'definition.json'), 'utf8'));
    expect(manifest.auth).to.equal(deriveKey(Buffer.alloc(32)).key);
    const named = [manifest.launch.build, ...manifest.launch.binary, manifest.config_files[0].template];
    for (const file of named) await access(path.join(folder, file));
  });

  it('serves the model that it names, and no other address than the mock', async () => {
    const manifest = JSON.parse(await readFile(path.join(folder, 'definition.json'), 'utf8'));
    const template = await readFile(path.join(folder, 'plugins.config.json.tmpl'), 'utf8');
    const { plugins } = JSON.parse(template.replaceAll('{MOCK_PORT}', '8000'));
    expect(plugins).to.deep.equal([
      {
        id: manifest.model,
        use: 'mediagate/plugins/openai_text',
        trustedOrigins: ['http://127.0.0.1:8000'],
        options: {
          models: [{ id: manifest.model, model: manifest.model }],
          upstreams: [{ url: 'http://127.0.0.1:8000/v1', apiKey: 'dummy' }],
        },
      },
    ]);
  });
});
