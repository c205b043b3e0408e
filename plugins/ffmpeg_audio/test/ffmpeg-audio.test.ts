/** Sound effects of the ffmpeg audio provider by the words of a prompt. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate/plugin';
import { createFakeHttp, describePlugin, setUpPlugin } from 'mediagate/testing';
import plugin from '../index.js';
import { SOUNDS, soundsIn } from '../sounds.js';

describePlugin({ plugin, folder: import.meta.url });

describe('ffmpeg_audio', () => {
  const prompts: Readonly<Record<string, readonly string[]>> = {
    'Heavy rain on a tin roof': ['rain'],
    'A thunderstorm far away': ['rain', 'thunder'],
    'waves on a pebble BEACH at night': ['waves'],
    'a campfire crackling beside a brook': ['stream', 'fire'],
    'mouse clicks': ['click'],
    'an old clock ticking': ['clock'],
    'footsteps in a hallway': ['footsteps'],
    'church bells': ['bell'],
    'police siren': ['siren'],
    'three beeps': ['beep'],
    'a car engine idling': ['engine'],
  };
  for (const [prompt, names] of Object.entries(prompts)) {
    it(`finds ${names.join(' and ')} in "${prompt}"`, () => {
      expect(soundsIn(prompt).map(({ name }) => name)).to.deep.equal(names);
    });
  }

  it('matches whole words, not parts of words', () => {
    for (const prompt of ['a train leaves', 'the window', 'a seal', 'refired', 'carpet']) {
      expect(() => soundsIn(prompt), prompt).to.throw(GatewayError);
    }
  });

  it('finds each of its sound effects by name', () => {
    for (const { name } of SOUNDS)
      expect(
        soundsIn(name).map((sound) => sound.name),
        name,
      ).to.include(name);
  });

  it('lists its sound effects if a prompt names none', async () => {
    const { contributions } = await setUpPlugin({ plugin, http: createFakeHttp([]) });
    const [provider] = contributions.audioProviders ?? [];
    const call = { model: 'tts_text_to_sound_v2', text: 'a dog barks', format: 'mp3' as const, options: {} };
    const error = await provider
      ?.generateSound?.({ ...call, signal: new AbortController().signal })
      .catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(GatewayError).and.to.include({ code: 'plugin_unavailable', retryable: false });
    expect((error as Error).message)
      .to.include('thunder, ')
      .and.to.include('ELEVENLABS_API_KEY');
  });
});
