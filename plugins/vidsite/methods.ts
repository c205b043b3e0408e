import { at, GatewayError, type Method } from 'mediagate';
import type { Requests } from './fetch.js';
import { itemOf, parseVideo } from './read/data-api.js';
import { parseOembed } from './read/oembed.js';
import {
  type Found,
  isReadable,
  outcomeOfNext,
  outcomeOfPlayer,
  type Reading,
  type VideoOutcome,
} from './read/outcomes.js';
import { channelId } from './read/text.js';
import { readWatchPage } from './read/watch-page.js';

/** Methods that show what the page shows, its owner among it. */
export const SHOWN_BY = ['innertube_next', 'watch_page'];

/** One video to be had, and what is known of it so far. */
export interface VideoCall {
  id: string;
  /** What each method that was tried came back with. */
  outcomes: Map<string, VideoOutcome>;
}

export interface MethodSettings extends Reading {
  requests: Requests;
  hasApiKey: boolean;
}

/**
 * The ways to a video, best first. The player's reply has the files and the item's own data, the microformat its exact
 * times and flags, the `next` reply what the page shows around it; the three are asked at the same time. The page itself
 * is fetched for what is still missing, and where the API trusts us less than it.
 */
export function createMethods({ requests, hasApiKey, ...reading }: MethodSettings): Method<Found, VideoCall>[] {
  const { facts } = reading;
  const { player, web } = facts.clients;

  const method = (
    name: string,
    options: Pick<Method<Found, VideoCall>, 'cost' | 'definitive' | 'group' | 'available' | 'usable'>,
    run: (id: string, signal: AbortSignal) => Promise<VideoOutcome>,
  ): Method<Found, VideoCall> => ({
    name,
    ...options,
    async run({ id, outcomes }, signal) {
      const outcome = await run(id, signal);
      outcomes.set(name, outcome);
      return outcome;
    },
  });

  return [
    method('data_api', { cost: 2, definitive: false, available: () => hasApiKey }, async (id, signal) => {
      const video = itemOf(await requests.dataApi('videos', id, signal), id);
      if (!video) return { kind: 'definitive', code: 'removed', reason: 'the official API does not list the video' };
      return { kind: 'found', found: [parseVideo(video, await channelOf(video, requests, signal), id)] };
    }),
    method('innertube_player', { cost: 1, definitive: false, group: 'innertube' }, async (id, signal) =>
      outcomeOfPlayer(await requests.innertube('player', player, id, signal), id, reading),
    ),
    method(
      'innertube_microformat',
      { cost: 1, definitive: false, group: 'innertube', usable: ({ outcomes }) => !hasFound(outcomes, 'data_api') },
      async (id, signal) => outcomeOfPlayer(await requests.innertube('microformat', web, id, signal), id, reading),
    ),
    method('innertube_next', { cost: 1, definitive: false, group: 'innertube' }, async (id, signal) =>
      outcomeOfNext(await requests.innertube('next', web, id, signal), id, reading),
    ),
    method(
      'watch_page',
      { cost: 3, definitive: true, usable: ({ outcomes }) => !isSettled(outcomes) },
      async (id, signal) => readWatchPage(await requests.watchPage(id, signal), id, reading),
    ),
    method(
      'oembed',
      { cost: 1, definitive: false, usable: ({ outcomes }) => !isSettled(outcomes) && !isReadable(foundIn(outcomes)) },
      async (id, signal) => {
        const { status, reply } = await requests.oembed(id, signal);
        if (reply === undefined) return { kind: 'definitive', code: 'removed', reason: `oEmbed: HTTP ${status}` };
        const post = parseOembed(reply, id);
        if (!post) throw new GatewayError('upstream_refused', 'The oEmbed answer was not about the requested video.');
        return { kind: 'found', found: [post], limitations: ['fallback_source: oembed'] };
      },
    ),
  ];
}

async function channelOf(video: unknown, requests: Requests, signal: AbortSignal): Promise<unknown> {
  const owner = channelId(at(video, 'snippet', 'channelId'));
  if (!owner) return undefined;
  try {
    return itemOf(await requests.dataApi('channels', owner, signal), owner);
  } catch {
    signal.throwIfAborted();
    // The video's own data is worth having without its channel's.
    return undefined;
  }
}

/** What the methods found so far. */
function foundIn(outcomes: ReadonlyMap<string, VideoOutcome>): Found {
  return [...outcomes.values()].flatMap((outcome) => (outcome.kind === 'transient' ? [] : (outcome.found ?? [])));
}

function hasFound(outcomes: ReadonlyMap<string, VideoOutcome>, name: string): boolean {
  return outcomes.get(name)?.kind === 'found';
}

/** Two of the site's own answers that agree on the item being gone or private need no third. */
function isSettled(outcomes: ReadonlyMap<string, VideoOutcome>): boolean {
  const codes = [...outcomes.values()].flatMap((outcome) => (outcome.kind === 'definitive' ? [outcome.code] : []));
  return (['removed', 'private'] as const).some((code) => codes.filter((one) => one === code).length > 1);
}
