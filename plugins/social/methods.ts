import { GatewayError, type LinkRef, type Method } from 'mediagate';
import type { Facts } from './facts.js';
import type { Found, PostOutcome } from './outcomes.js';
import { readPage } from './page.js';
import { takeApart } from './page-parts.js';
import { readPageState } from './page-state.js';
import { parsePlugin } from './parse-plugin.js';
import type { PageAnswer, Requests } from './requests.js';

/** One item to be had, and what came of the ways tried so far. */
export interface ItemCall {
  link: LinkRef;
  outcomes: Map<string, PostOutcome>;
}

export interface MethodSettings {
  requests: Requests;
  facts: Facts;
}

/**
 * The ways to an item, best first: its own page, for a video the page that shows it in the other form (reel and watch
 * pages hold different counters, and one may be open where the other asks to log in), and what other sites embed.
 */
export function createMethods({ requests, facts }: MethodSettings): Method<Found, ItemCall>[] {
  const method = (
    name: string,
    options: Pick<Method<Found, ItemCall>, 'cost' | 'usable'>,
    run: (link: LinkRef, signal: AbortSignal) => Promise<PostOutcome>,
  ): Method<Found, ItemCall> => ({
    name,
    definitive: false,
    ...options,
    async run({ link, outcomes }, signal) {
      const outcome = await run(link, signal);
      outcomes.set(name, outcome);
      return outcome;
    },
  });

  return [
    method('page', { cost: 3 }, async (link, signal) => readPage(await requests.page(link.url, signal), link, facts)),
    method(
      'sibling_page',
      { cost: 3, usable: ({ link, outcomes }) => link.kind !== 'post' && !isWithheld(outcomes) },
      async (link, signal) => {
        const template = link.kind === 'reel' ? facts.urls.video : facts.urls.reel;
        return readPage(await requests.page(template.replace('{id}', link.id), signal), link, facts);
      },
    ),
    method('plugin', { cost: 1, usable: ({ outcomes }) => !isWithheld(outcomes) }, async (link, signal) =>
      readPlugin(await requests.plugin(link, signal), link, facts),
    ),
  ];
}

/** An item for adults is for adults everywhere. */
function isWithheld(outcomes: ReadonlyMap<string, PostOutcome>): boolean {
  return [...outcomes.values()].some((outcome) => outcome.kind === 'definitive' && outcome.code === 'age_restricted');
}

function readPlugin(answer: PageAnswer, { id }: LinkRef, facts: Facts): PostOutcome {
  const state = readPageState(answer, takeApart(answer.html), facts);
  // Not everything may be embedded: a "no" from here says nothing of the item itself.
  if (state.kind === 'definitive') throw refused(state.reason);
  if (state.kind === 'transient') return state;
  const post = parsePlugin(answer.html, id);
  if (!post) throw refused('the page for embedding does not show the item');
  return { kind: 'found', found: [post] };
}

function refused(reason: string): GatewayError {
  return new GatewayError('upstream_refused', 'The platform does not let the item be embedded.', { reason });
}
