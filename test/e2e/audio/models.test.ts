/** Audio models of a running gateway: mocks, upstreams and vendors. */

import { expect } from 'chai';
import { type ElevenlabsUpstream, startElevenlabsUpstream } from '../../support/audio/elevenlabs-upstream.js';
import { type OpenaiAudioUpstream, startOpenaiAudioUpstream } from '../../support/audio/openai-audio-upstream.js';
import { type GatewayHere, startGatewayHere } from '../../support/processes/gateway-here.js';

const HEARING = ['stt-large-v3', 'stt-large-v3-turbo'];
const SPEAKING = ['tts_multilingual_v2', 'tts_v3', 'tts_flash_v2_5', 'tts_turbo_v2_5'];
const SOUNDING = ['tts_multilingual_sts_v2', 'tts_text_to_sound_v2'];

describe('audio models of a running gateway', () => {
  let gateway: GatewayHere;
  let upstream: OpenaiAudioUpstream;
  let vendor: ElevenlabsUpstream;
  before(async () => {
    [upstream, vendor] = await Promise.all([
      startOpenaiAudioUpstream(),
      startElevenlabsUpstream({ apiKey: 'sk_test' }),
    ]);
  });
  afterEach(() => gateway.stop());
  after(() => Promise.all([upstream.close(), vendor.close()]));

  /** Which plugin is ready for each audio model, and that none has failed. */
  async function plugins(environment: Record<string, string>): Promise<Record<string, string>> {
    gateway = await startGatewayHere({ environment });
    const { stdout } = await gateway.command('plugins', '--json');
    const entries: { id: string; plugin: string; state: string; provides: string[] }[] = JSON.parse(stdout);
    expect(entries.filter(({ state }) => state === 'failed')).to.deep.equal([]);
    const ready = entries.filter(({ state, provides }) => state === 'ready' && provides.includes('audio'));
    return Object.fromEntries(ready.map(({ id, plugin }) => [id, plugin]));
  }
  const each = (models: readonly string[], plugin: string) => Object.fromEntries(models.map((id) => [id, plugin]));

  it('are mocks without an upstream', async () => {
    expect(await plugins({})).to.deep.equal({
      ...each(HEARING, 'offline_speech'),
      ...each(SPEAKING, 'offline_speech'),
      ...each(SOUNDING, 'ffmpeg_audio'),
    });
  });

  it('come from configured upstreams', async () => {
    const url = upstream.baseUrl;
    expect(await plugins({ TRANSCRIPTION_UPSTREAM_URL: url, SPEECH_UPSTREAM_URL: url })).to.deep.equal({
      ...each(HEARING, 'openai_audio'),
      ...each(SPEAKING, 'openai_audio'),
      ...each(SOUNDING, 'ffmpeg_audio'),
    });
  });

  it('prefer the vendor with a key', async () => {
    const environment = { ELEVENLABS_API_KEY: 'sk_test', ELEVENLABS_URL: vendor.baseUrl };
    expect(await plugins({ ...environment, SPEECH_UPSTREAM_URL: upstream.baseUrl })).to.deep.equal({
      ...each(HEARING, 'offline_speech'),
      ...each(SPEAKING, 'elevenlabs_audio'),
      ...each(SOUNDING, 'elevenlabs_audio'),
    });
  });
});
