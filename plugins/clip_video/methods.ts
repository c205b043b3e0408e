import type { Method, PartialPost } from 'mediagate';
import { isComplete, isReadable } from './completeness.js';
import type { Facts } from './facts.js';
import type { Requests, Wall } from './fetch.js';
import { parseOembed } from './read/oembed.js';
import { type ClipOutcome, outcomeOfEmbed, outcomeOfPage, outcomeOfPlayer } from './read/outcomes.js';

/** One item to be had, and what is known of it so far. */
export interface ClipCall {
  id: string;
  /** What each method that was tried came back with. */
  outcomes: Map<string, ClipOutcome>;
  /** What the page led to instead of the item. */
  wall?: Wall;
}

export interface MethodSettings {
  requests: Requests;
  facts: Facts;
}

/**
 * The ways to an item, best first. The page has everything, but its counters may be rounded and its files bound to the
 * visit's cookies; the embedded player's page has exact counters and free files. Its interface and oEmbed are for when
 * neither can be had.
 */
export function createMethods({ requests, facts }: MethodSettings): Method<PartialPost, ClipCall>[] {
  const method = (
    name: string,
    options: Pick<Method<PartialPost, ClipCall>, 'cost' | 'definitive' | 'usable'>,
    run: (call: ClipCall, signal: AbortSignal) => Promise<ClipOutcome>,
  ): Method<PartialPost, ClipCall> => ({
    name,
    ...options,
    async run(call, signal) {
      const outcome = await run(call, signal);
      call.outcomes.set(name, outcome);
      return outcome;
    },
  });

  return [
    method('page', { cost: 2, definitive: true }, async (call, signal) => {
      const reply = await requests.page(call.id, signal);
      const outcome = 'wall' in reply ? reply : outcomeOfPage(reply.html, call.id, facts);
      if (!('wall' in outcome)) return outcome;
      call.wall = outcome;
      return { kind: 'transient', code: 'upstream_refused', reason: outcome.reason };
    }),
    method('embed', { cost: 1, definitive: false }, async ({ id }, signal) => {
      const { html } = await requests.embed(id, signal);
      return outcomeOfEmbed(html, id, facts);
    }),
    method(
      'player',
      { cost: 1, definitive: false, usable: ({ outcomes }) => !foundIn(outcomes).some(isComplete) },
      async ({ id }, signal) => outcomeOfPlayer(await requests.player(id, signal), id, facts),
    ),
    method(
      'oembed',
      { cost: 1, definitive: false, usable: ({ outcomes }) => !foundIn(outcomes).some(isReadable) },
      async ({ id }, signal) => {
        const reply = await requests.oembed(id, signal);
        if (reply === undefined) return { kind: 'definitive', code: 'removed', reason: 'oEmbed: HTTP 404' };
        const post = parseOembed(reply, id);
        if (post) return { kind: 'found', found: post };
        return { kind: 'transient', code: 'upstream_refused', reason: 'the oEmbed answer was not about the item' };
      },
    ),
  ];
}

/** What the methods found so far. */
function foundIn(outcomes: ReadonlyMap<string, ClipOutcome>): PartialPost[] {
  return [...outcomes.values()].flatMap((outcome) =>
    outcome.kind === 'transient' || outcome.found === undefined ? [] : [outcome.found],
  );
}
