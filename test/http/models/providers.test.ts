/** Which providers serve which models, by environment. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { createLogger, type Gateway } from 'mediagate';
import { openGateway } from '../../../server/open-gateway.js';
import { readSettings } from '../../../server/settings/index.js';
import { packageRoot } from '../../support/package-root.js';
import { variants } from '../../support/runner/variants.js';

const TEXT = [
  'm-5.5',
  'm-5.4',
  'm-5.4-mini',
  'm-5.3-code',
  'm-5.2-code',
  'm-5.2',
  'm-5.1-code-max',
  'm-5.1-code-mini',
  'm-5-code',
  'm-5-code-mini',
  'm-5.3-code-spark',
  'code-auto-review',
];
const SPEECH = ['tts_multilingual_v2', 'tts_v3', 'tts_flash_v2_5', 'tts_turbo_v2_5'];

/** What serves each model: the plugin of the first variable that is set, else the last one. */
const PROVIDERS: readonly {
  models: readonly string[];
  vendors: readonly (readonly [variable: string, plugin: string])[];
  otherwise: string;
}[] = [
  {
    models: ['gen-img-2', 'gen-image-2'],
    vendors: [['IMAGE_UPSTREAM_URL', 'openai_image']],
    otherwise: 'sketch_image',
  },
  { models: TEXT, vendors: [['TEXT_UPSTREAM_URL', 'openai_text']], otherwise: 'echo_text' },
  {
    models: ['stt-large-v3', 'stt-large-v3-turbo'],
    vendors: [['TRANSCRIPTION_UPSTREAM_URL', 'openai_audio']],
    otherwise: 'offline_speech',
  },
  {
    models: SPEECH,
    vendors: [
      ['ELEVENLABS_API_KEY', 'elevenlabs_audio'],
      ['SPEECH_UPSTREAM_URL', 'openai_audio'],
    ],
    otherwise: 'offline_speech',
  },
  {
    models: ['tts_multilingual_sts_v2', 'tts_text_to_sound_v2'],
    vendors: [['ELEVENLABS_API_KEY', 'elevenlabs_audio']],
    otherwise: 'ffmpeg_audio',
  },
];

const VARIABLES: Readonly<Record<string, string>> = {
  IMAGE_UPSTREAM_URL: 'https://images.example/v1',
  TEXT_UPSTREAM_URL: 'https://text.example/v1',
  TRANSCRIPTION_UPSTREAM_URL: 'https://hearing.example/v1',
  SPEECH_UPSTREAM_URL: 'https://speech.example/v1',
  ELEVENLABS_API_KEY: 'sk_of-a-test',
  OIDC_ISSUER: 'https://issuer.example',
};

/** Every choice of variables that are set. Every run has those of none, one, two that serve one model, and all. */
const CHOICES = variants(
  Object.keys(VARIABLES).reduce<string[][]>(
    (choices, name) => choices.flatMap((choice) => [choice, [...choice, name]]),
    [[]],
  ),
  (names) =>
    names.length < 2 ||
    names.length === Object.keys(VARIABLES).length ||
    names.join() === 'SPEECH_UPSTREAM_URL,ELEVENLABS_API_KEY',
);

describe('providers of models by environment', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-providers-'));
  });
  after(() => rm(folder, { recursive: true }));

  async function open(environment: Readonly<Record<string, string>>): Promise<Gateway> {
    const issuer = environment.OIDC_ISSUER ? { OIDC_CLIENT_ID: 'x', OIDC_CLIENT_SECRET: 'x' } : {};
    const settings = readSettings({
      DATA_DIR: folder,
      PLUGINS_CONFIG: path.join(packageRoot, 'plugins.config.json'),
      BROWSER: 'off',
      ...issuer,
      ...environment,
    });
    return openGateway({
      settings,
      environment,
      logger: createLogger({ level: 'silent' }),
      baseUrl: () => '',
      readOnly: true,
    });
  }

  it('are those of the configured vendors, and mocks for the others', async () => {
    for (const names of CHOICES) {
      await using gateway = await open(Object.fromEntries(names.map((name) => [name, VARIABLES[name] ?? ''])));
      const plugins = gateway.plugins();
      const pluginOf = new Map(plugins.filter(({ state }) => state === 'ready').map(({ id, plugin }) => [id, plugin]));
      // Connected models have names of their own besides.
      const ofService = gateway.models().filter(({ id }) => PROVIDERS.some(({ models }) => models.includes(id)));
      const served = Object.fromEntries(ofService.map(({ id, entry }) => [id, pluginOf.get(entry)]));
      const expected = PROVIDERS.flatMap(({ models, vendors, otherwise }) => {
        const [, plugin] = vendors.find(([variable]) => names.includes(variable)) ?? ['', otherwise];
        return models.map((model) => [model, plugin]);
      });
      const where = names.join(', ') || 'nothing is set';
      expect(served, where).to.deep.equal(Object.fromEntries(expected));
      expect(ofService, where).to.have.length(expected.length);
      expect(
        plugins.filter(({ state }) => state !== 'ready' && state !== 'disabled'),
        where,
      ).to.deep.equal([]);
      expect(gateway.identityProvider()?.entry, where).to.equal(
        names.includes('OIDC_ISSUER') ? undefined : 'dev_identity',
      );
    }
  });

  it("are no mocks if a vendor's value is invalid", async () => {
    await using gateway = await open({ IMAGE_UPSTREAM_URL: 'nonsense', TEXT_UPSTREAM_URL: 'nonsense' });
    const failed = gateway.plugins().filter(({ state }) => state === 'failed');
    expect(failed.map(({ id }) => id)).to.deep.equal(['openai_image', 'openai_text']);
    expect(new Set(gateway.models().map(({ kind }) => kind))).to.deep.equal(new Set(['audio']));
  });

  it('name the variables that connect a better one, the closest first', async () => {
    await using gateway = await open({});
    const switchOff = new Map(
      gateway
        .plugins()
        .flatMap(({ id, state, variables }) =>
          state === 'ready' && variables.switchOff.length > 0 ? [[id, variables.switchOff] as const] : [],
        ),
    );
    expect(switchOff.get('sketch_image')).to.deep.equal(['IMAGE_UPSTREAM_URL']);
    expect(switchOff.get('m-5.5')).to.deep.equal(['TEXT_UPSTREAM_URL']);
    expect(switchOff.get('tts_v3')).to.deep.equal(['SPEECH_UPSTREAM_URL', 'ELEVENLABS_API_KEY']);
    expect(switchOff.get('tts_text_to_sound_v2')).to.deep.equal(['ELEVENLABS_API_KEY']);
  });
});
