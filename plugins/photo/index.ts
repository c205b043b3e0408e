/*
 * Declares the extractor of Instagram posts and reels, and the order of its methods: page, embed, two queries of the
 * site's own code, the app's API, and `ruling`, which asks why a post is not shown. Only `ruling` is definitive: its
 * refusal ends the run, and those of the others are votes, because the site also says "removed" for posts that it does
 * not want to show. A null reply of a query is a vote for removal only if that query has shown a post within six hours:
 * the site retires queries without notice. The session of a query is read once for each call.
 */

import {
  audioSource,
  type Clock,
  definePlugin,
  type Extractor,
  extractorFrom,
  GatewayError,
  type ItemCall,
  type ItemMethod,
  type PluginContext,
  type SiteConfigOverride,
  SiteConfigSchema,
  Type,
} from 'mediagate/plugin';
import { assemble, chooseAudio } from './assemble.js';
import { type Page, Requests, readSession, type Session, type SiteConfig, siteConfigOf } from './fetch.js';
import { hasPrivateKey, identityOf, LINK_FORMS, matchPost, type PostIdentity } from './links.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { readEmbedPage } from './read/embed.js';
import { readPermalinkPage } from './read/page.js';
import {
  GATED,
  hasAllFiles,
  hasAuthorAndContent,
  isWorthwhile,
  type PostOutcome,
  type PostReading,
  readRuling,
  refused,
  restricted,
} from './read/post.js';
import { readReply } from './read/reply.js';

const options = Type.Object(
  {
    siteConfig: SiteConfigSchema,
  },
  { additionalProperties: false },
);

/** Public posts and reels of Instagram. */
export default definePlugin<typeof options>({
  name: 'photo',
  apiVersion: 1,
  summary: 'Public posts and reels of Instagram: caption, counters, author, pictures, videos and audio.',
  provides: ['extractor'],
  options,
  setup: (context) => ({ extractors: [createPhotoExtractor(context)] }),
});

/** @throws TypeError if `options.siteConfig` does not fit the shipped values. */
function createPhotoExtractor(context: PluginContext<{ siteConfig?: SiteConfigOverride }>): Extractor {
  const siteConfig = siteConfigOf(context.options.siteConfig);
  const requests = new Requests(context.http, siteConfig);
  return extractorFrom<PostReading, PostState>(context, {
    platform: 'photo',
    displayName: 'Instagram',
    linkForms: LINK_FORMS,
    mediaHosts: ['.cdninstagram.com', '.fbcdn.net'],
    mediaHeaders: { 'user-agent': siteConfig.userAgent, referer: `${siteConfig.origin}/` },
    match: matchPost,
    embed: ({ url }) => ({ url: `${url}embed/`, width: 400, height: 700 }),
    probeLinks,
    resolve: (call) => requests.resolveShareLink(call),
    begin: ({ link }) => ({ identity: identityOf(link.id) }),
    methods: createMethods(requests, siteConfig, context.clock),
    isEnough: (readings) => hasAuthorAndContent(readings) && hasAllFiles(readings),
    isWorthwhile,
    assemble: (run) => assemble(run, run.call.state.identity),
    async resolveAudio({ link }, run) {
      const { media, common } = assemble(await run(), identityOf(link.id)).data;
      return audioSource(chooseAudio(media.entries), {
        headers: { 'user-agent': siteConfig.userAgent, referer: `${siteConfig.origin}/` },
        durationSeconds: common.duration_seconds,
      });
    },
  });
}

/** What the methods of one call share. */
export interface PostState {
  identity: PostIdentity;
  /** The page of the post, which usually holds the session of a query. */
  page?: Page;
  session?: Session;
}
type PostCall = ItemCall<PostReading, PostState>;
type PostMethod = ItemMethod<PostReading, PostState>;

/**
 * The methods, best first. The page has the whole post, or only its tags; an embed has all images and exact counters; the
 * queries have everything if the site accepts them. An embed that is broken is no sign of removal.
 */
function createMethods(requests: Requests, siteConfig: SiteConfig, clock: Clock): PostMethod[] {
  const method = (
    name: string,
    settings: Pick<PostMethod, 'cost' | 'definitive' | 'usable'>,
    run: (state: PostState, signal: AbortSignal, call: PostCall) => Promise<PostOutcome>,
  ): PostMethod => ({
    name,
    ...settings,
    run: async (call, signal) => checkRemoved(await run(call.state, signal, call), call),
  });

  /** @throws GatewayError if no page has a token. */
  async function sessionFor(state: PostState, signal: AbortSignal): Promise<Session> {
    // Looking for the token takes as long as reading the page, and few posts need a query.
    state.session ??= state.page && readSession(state.page, siteConfig);
    state.session ??= readSession(await requests.home(signal), siteConfig);
    if (state.session) return state.session;
    throw new GatewayError('upstream_refused', 'The platform’s home page does not have what a query needs.', {
      reason: 'a home page without a token',
    });
  }

  /** Query → monotonic time until which an empty reply of it is a sign that the post is gone. */
  const provenUntil = new Map<string, number>();

  const query = (name: 'post' | 'shortcode') => async (state: PostState, signal: AbortSignal) => {
    const session = await sessionFor(state, signal);
    const reply = await requests.query(name, state.identity, session, signal);
    const outcome = readReply(reply, state.identity, siteConfig);
    if (outcome.kind === 'found') provenUntil.set(name, clock.monotonic() + PROVEN_MS);
    // The site retires queries without notice, and a retired one answers null for every post.
    const isProven = clock.monotonic() < (provenUntil.get(name) ?? 0);
    if (outcome.kind === 'definitive' && outcome.code === 'removed' && !isProven) {
      return refused('an empty answer of a query that has not shown a post lately');
    }
    return outcome;
  };

  return [
    method('permalink', { cost: 3, definitive: false }, async (state, signal) => {
      const page = await requests.permalink(state.identity, signal);
      if (page === 'missing') return REMOVED;
      if (page === 'login') return loginOutcome(state.identity);
      state.page = page;
      return readPermalinkPage(page.html, state.identity, siteConfig);
    }),
    method('embed', { cost: 2, definitive: false }, async ({ identity }, signal) => {
      const page = await requests.embed(identity, signal);
      return page ? readEmbedPage(page.html, identity, siteConfig) : REMOVED;
    }),
    method('graphql_post', { cost: 2, definitive: false }, query('post')),
    method('graphql_shortcode', { cost: 1, definitive: false }, query('shortcode')),
    method('media_info', { cost: 1, definitive: false, usable: isUnexplained }, async ({ identity }, signal) => {
      const reply = await requests.mediaInfo(identity, signal);
      return reply === undefined ? REMOVED : readReply(reply, identity, siteConfig);
    }),
    method('ruling', { cost: 1, definitive: true, usable: isUnexplained }, async ({ identity }, signal, call) => {
      const page = call.outcomes.get('permalink');
      const reply = await requests.ruling(identity, signal).catch((error: unknown) => {
        // Without a ruling, that the page does not exist is enough.
        if (page?.kind === 'definitive' && page.code === 'removed') return undefined;
        throw error;
      });
      if (reply === undefined && page?.kind === 'definitive') return page;
      return readRuling(reply, siteConfig.phrases) ?? refused('the post is not shown, and no reason is given');
    }),
  ];
}

/** Milliseconds for which a query that showed a post counts as working. */
const PROVEN_MS = 6 * 3_600_000;

const REMOVED = restricted('removed', 'HTTP 404');

/** The site redirects to its login page for private posts always, and for any post at times. */
function loginOutcome({ shortcode }: PostIdentity): PostOutcome {
  const reason = 'redirected to the login page';
  return hasPrivateKey(shortcode) ? restricted('private', reason) : refused(reason);
}

/** The site also says "removed" for the link of a private post, and for a post that another reply restricted. */
function checkRemoved(outcome: PostOutcome, { state, outcomes }: PostCall): PostOutcome {
  if (outcome.kind !== 'definitive' || outcome.code !== 'removed') return outcome;
  if (hasPrivateKey(state.identity.shortcode)) return { ...outcome, code: 'private' };
  return restrictionsIn(outcomes).length > 0
    ? { kind: 'transient', code: 'upstream_refused', reason: outcome.reason }
    : outcome;
}

/** Nothing was extracted, and no reply says why. A gate alone may have several reasons. */
function isUnexplained({ found, outcomes }: PostCall): boolean {
  return !hasAuthorAndContent(found()) && restrictionsIn(outcomes).every(({ reason }) => reason === GATED.reason);
}

function restrictionsIn(outcomes: PostCall['outcomes']) {
  return [...outcomes.values()].flatMap((outcome) =>
    outcome.kind === 'definitive' && outcome.code !== 'removed' ? [outcome] : [],
  );
}
