import { type AudioSource, GatewayError, type MediaEntry, type Outcome, type PartialPost } from 'mediagate';
import type { Facts } from './facts.js';
import type { Requests } from './fetch.js';
import { chooseSound } from './read/media-files.js';
import { outcomeOfEmbed, outcomeOfPage, outcomeOfPlayer } from './read/outcomes.js';

export interface SoundSettings {
  requests: Requests;
  facts: Facts;
}

type Way = (id: string, signal: AbortSignal) => Promise<{ outcome: Outcome<PartialPost>; cookie?: string }>;

/**
 * Finds where an item's sound can be fetched now: in the page, whose cookies the files want, else by the ways that need
 * none.
 * @throws GatewayError with what the platform said of the item, or `audio_unavailable`.
 */
export function createSoundSearch({ requests, facts }: SoundSettings) {
  const ways: readonly Way[] = [
    async (id, signal) => {
      const reply = await requests.page(id, signal);
      const outcome = 'wall' in reply ? reply : outcomeOfPage(reply.html, id, facts);
      if ('wall' in outcome)
        return { outcome: { kind: 'transient', code: 'upstream_refused', reason: outcome.reason } };
      return { outcome, ...('cookie' in reply && { cookie: reply.cookie }) };
    },
    async (id, signal) => ({ outcome: outcomeOfEmbed((await requests.embed(id, signal)).html, id, facts) }),
    async (id, signal) => ({ outcome: outcomeOfPlayer(await requests.player(id, signal), id, facts) }),
  ];

  return async (id: string, signal: AbortSignal): Promise<AudioSource> => {
    let failure: unknown;
    for (const [index, way] of ways.entries()) {
      try {
        const { outcome, cookie } = await way(id, signal);
        if (outcome.kind === 'found') {
          const post = outcome.found;
          const isUsable = (entry: MediaEntry) => cookie !== undefined || !entry.bound_to?.includes('cookie');
          const sound = post.audio ? chooseSound(post.media?.entries ?? [], isUsable) : undefined;
          if (sound) return sourceOf(sound, post, cookie, facts);
          failure ??= silent();
          continue;
        }
        failure ??= new GatewayError(outcome.code, 'The platform does not give the sound of the item.', {
          reason: outcome.reason,
        });
        // What the page says of its item is final.
        if (outcome.kind === 'definitive' && index === 0) break;
      } catch (error) {
        signal.throwIfAborted();
        failure ??= error;
      }
    }
    throw failure ?? silent();
  };
}

function silent(): GatewayError {
  return new GatewayError('audio_unavailable', 'The platform gives no file with the sound of the item.');
}

function sourceOf(sound: MediaEntry, post: PartialPost, cookie: string | undefined, facts: Facts): AudioSource {
  const seconds = sound.kind === 'video' ? post.common?.duration_seconds : sound.duration_seconds;
  return {
    url: sound.url,
    headers: {
      'user-agent': facts.userAgent,
      referer: `${facts.origin}/`,
      ...(cookie && sound.bound_to?.includes('cookie') && { cookie }),
    },
    ...(sound.mime && { mime: sound.mime }),
    ...(seconds !== undefined && { durationSeconds: seconds }),
  };
}
