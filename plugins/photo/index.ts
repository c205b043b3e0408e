import {
  type AudioSource,
  asString,
  at,
  createFallbackChain,
  definePlugin,
  type ExtractCall,
  type Extraction,
  type Extractor,
  GatewayError,
  type MediaEntry,
  type Method,
  mergePosts,
  type PluginContext,
  type SiteConfigOverride,
  Type,
} from 'mediagate';
import { limitationsOf, rankReadings, toParts } from './assemble.js';
import {
  createRequests,
  type Page,
  type Requests,
  readSession,
  resolveShareLink,
  type Session,
  type SiteConfig,
  siteConfigOf,
} from './fetch.js';
import { LINK_FORMS, matchPost } from './links.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { readEmbedPage } from './read/embed.js';
import { readPermalinkPage } from './read/page.js';
import {
  GATED,
  hasAllFiles,
  hasAuthorAndContent,
  isWorthwhile,
  type PostOutcome,
  type Readings,
  readRuling,
} from './read/reading.js';
import { outcomeOfReply } from './read/reply.js';
import { hasPrivateKey, identityOf, type PostIdentity } from './shortcode.js';

const options = Type.Object(
  {
    /** Values that replace those of site-config.json, in the same shape. */
    siteConfig: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);

/** Public posts and reels of Instagram. */
export default definePlugin<typeof options>({
  name: 'photo',
  apiVersion: 1,
  summary: 'Public posts and reels of Instagram: caption, counters, author, pictures, videos and sound.',
  provides: ['extractor'],
  options,
  setup: (context) => ({ extractors: [createPhotoExtractor(context)] }),
});

const PLATFORM = 'photo';
const MEDIA_HOSTS = ['.cdninstagram.com', '.fbcdn.net'];

interface PhotoOptions {
  siteConfig?: SiteConfigOverride;
}

/** @throws TypeError if `options.siteConfig` does not fit the shipped values. */
function createPhotoExtractor(context: PluginContext<PhotoOptions>): Extractor {
  const { http, clock, logger, options } = context;
  const siteConfig = siteConfigOf(options.siteConfig);
  const chain = createFallbackChain<Readings, PostCall>({
    platform: PLATFORM,
    clock,
    logger,
    methods: createMethods({ requests: createRequests({ http, siteConfig }), siteConfig }),
    isEnough: (parts) => {
      const readings = parts.flatMap(({ found }) => found);
      return hasAuthorAndContent(readings) && hasAllFiles(readings);
    },
    isWorthwhile: (parts) => isWorthwhile(parts.flatMap(({ found }) => found)),
  });

  async function read({ link, signal, only }: ExtractCall) {
    const identity = identityOf(link.id);
    const run = await chain.run({ identity, outcomes: new Map() }, signal, only);
    const readings = rankReadings(run.parts);
    return { run, readings, data: mergePosts(toParts(readings, identity)) };
  }

  return {
    platform: PLATFORM,
    displayName: 'Instagram',
    linkForms: LINK_FORMS,
    audio: true,
    mediaHosts: MEDIA_HOSTS,
    match: matchPost,
    methods: chain.methods,
    probeLinks,

    resolve({ link, signal }) {
      return resolveShareLink({ http, siteConfig, link, signal });
    },

    async extract(call): Promise<Extraction> {
      const { run, readings, data } = await read(call);
      return {
        method: run.parts.map(({ method }) => method).join('+'),
        data,
        limitations: limitationsOf(data, readings, run),
        audio: chooseAudio(data.media.entries ?? []) !== undefined,
        partial: run.partial,
      };
    },

    async resolveAudio(call): Promise<AudioSource> {
      const { data } = await read(call);
      const sound = chooseAudio(data.media.entries ?? []);
      if (!sound) {
        throw new GatewayError('audio_unavailable', 'The platform gives no file with the sound of the post.', {
          platform: PLATFORM,
        });
      }
      const length = sound.duration_seconds ?? data.common.duration_seconds;
      return {
        url: sound.url,
        headers: { 'user-agent': siteConfig.userAgent, referer: `${siteConfig.origin}/` },
        ...(sound.mime && { mime: sound.mime }),
        ...(length && { durationSeconds: length }),
      };
    },
  };
}

/** The first sound track (the lists begin with the smallest) before the smallest video with sound. */
function chooseAudio(entries: readonly MediaEntry[]): MediaEntry | undefined {
  const videos = entries.filter(({ kind, has_audio }) => kind === 'video' && has_audio !== false);
  const area = ({ width = 0, height = 0 }: MediaEntry) => width * height || Number.MAX_SAFE_INTEGER;
  return entries.find(({ kind }) => kind === 'audio') ?? videos.sort((one, other) => area(one) - area(other))[0];
}

/** One post to be had, and what is known of it so far. */
interface PostCall {
  identity: PostIdentity;
  /** What each method that was tried came back with. */
  outcomes: Map<string, PostOutcome>;
  /** The post's page, which mostly gives what queries must bring along. */
  page?: Page;
  /** What they must bring along, once a page gave it. */
  session?: Session;
}

interface MethodSettings {
  requests: Requests;
  siteConfig: SiteConfig;
}

/**
 * The ways to a post, best first. The post's page has all of it, or its tags alone; an embed has all pictures and exact
 * counters; the queries of the site's own code have everything where the site trusts us. Where nothing was had, a ruling
 * tells why. No "no" but the ruling's is final: the site says the same of what is gone and of what it will not show.
 */
function createMethods({ requests, siteConfig }: MethodSettings): Method<Readings, PostCall>[] {
  const nothingYet = ({ outcomes }: PostCall) => !hasAuthorAndContent(foundIn(outcomes)) && !isExplained(outcomes);

  const method = (
    name: string,
    options: Pick<Method<Readings, PostCall>, 'cost' | 'definitive' | 'usable'>,
    run: (call: PostCall, signal: AbortSignal) => Promise<PostOutcome>,
  ): Method<Readings, PostCall> => ({
    name,
    ...options,
    async run(call, signal) {
      const outcome = adjustRemoved(await run(call, signal), call);
      call.outcomes.set(name, outcome);
      return outcome;
    },
  });

  /** @throws GatewayError where no page gives what a query must bring along. */
  async function sessionFor(call: PostCall, signal: AbortSignal): Promise<Session> {
    // Looking for it costs as much as reading the page, and few posts take a query.
    call.session ??= call.page && readSession(call.page, siteConfig);
    call.session ??= readSession(await requests.home(signal), siteConfig);
    if (call.session) return call.session;
    throw new GatewayError('upstream_refused', 'The platform’s home page lacks what a query needs.', {
      reason: 'a home page without a token',
    });
  }

  const query = (name: 'post' | 'shortcode') => async (call: PostCall, signal: AbortSignal) => {
    const session = await sessionFor(call, signal);
    return outcomeOfReply(await requests.query(name, call.identity, session, signal), call.identity, siteConfig);
  };

  return [
    method('permalink', { cost: 3, definitive: false }, async (call, signal) => {
      const page = await requests.permalink(call.identity, signal);
      if (page === 'missing') return removedOutcome('HTTP 404');
      if (page === 'login') return behindLogin(call.identity);
      call.page = page;
      return readPermalinkPage(page.html, call.identity, siteConfig);
    }),
    method('embed', { cost: 2, definitive: false }, async ({ identity }, signal) => {
      const html = await requests.embed(identity, signal);
      return html === undefined ? removedOutcome('HTTP 404') : readEmbedPage(html, identity, siteConfig);
    }),
    method('graphql_post', { cost: 2, definitive: false }, query('post')),
    method('graphql_shortcode', { cost: 1, definitive: false }, query('shortcode')),
    method('media_info', { cost: 1, definitive: false, usable: nothingYet }, async ({ identity }, signal) => {
      const reply = await requests.mediaInfo(identity, signal);
      return reply === undefined ? removedOutcome('HTTP 404') : outcomeOfReply(reply, identity, siteConfig);
    }),
    method('ruling', { cost: 1, definitive: true, usable: nothingYet }, async ({ identity, outcomes }, signal) => {
      const page = outcomes.get('permalink');
      const reply = await requests.ruling(identity, signal).catch((error: unknown) => {
        // Nobody is there to say why; that the post's own page is not there has to do.
        if (page?.kind === 'definitive' && page.code === 'removed') return undefined;
        throw error;
      });
      if (reply === undefined && page?.kind === 'definitive') return page;
      const words = [asString(at(reply, 'title')), asString(at(reply, 'description'))].filter(Boolean).join(': ');
      if (words) return readRuling(words, siteConfig.phrases);
      return { kind: 'transient', code: 'upstream_refused', reason: 'the post is not shown, and no reason is given' };
    }),
  ];
}

function removedOutcome(reason: string): PostOutcome {
  return { kind: 'definitive', code: 'removed', reason };
}

/** Everybody's posts are kept behind the form to log in at times; a private one's always. */
function behindLogin({ shortcode }: PostIdentity): PostOutcome {
  const reason = 'redirected to the login page';
  return hasPrivateKey(shortcode)
    ? { kind: 'definitive', code: 'private', reason }
    : { kind: 'transient', code: 'upstream_refused', reason };
}

/** "Not there" is said of much: of a private post's link, and of what another answer told the reason for. */
function adjustRemoved(outcome: PostOutcome, { identity, outcomes }: PostCall): PostOutcome {
  if (outcome.kind !== 'definitive' || outcome.code !== 'removed') return outcome;
  if (hasPrivateKey(identity.shortcode)) return { ...outcome, code: 'private' };
  return restrictionsIn(outcomes).length > 0
    ? { kind: 'transient', code: 'upstream_refused', reason: outcome.reason }
    : outcome;
}

/** Whether an answer told why the post is not shown; that it stands behind a gate may have several reasons. */
function isExplained(outcomes: ReadonlyMap<string, PostOutcome>): boolean {
  return restrictionsIn(outcomes).some((outcome) => outcome !== GATED);
}

/** Answers that said more than that there is nothing. */
function restrictionsIn(outcomes: ReadonlyMap<string, PostOutcome>): PostOutcome[] {
  return [...outcomes.values()].filter((outcome) => outcome.kind === 'definitive' && outcome.code !== 'removed');
}

/** What the methods found so far. */
function foundIn(outcomes: ReadonlyMap<string, PostOutcome>): Readings {
  return [...outcomes.values()].flatMap((outcome) => (outcome.kind === 'transient' ? [] : (outcome.found ?? [])));
}
