import {
  type AudioSource,
  asString,
  at,
  createFallbackChain,
  definePlugin,
  type ExtractCall,
  type Extraction,
  type Extractor,
  type FactsOverride,
  GatewayError,
  type MediaEntry,
  type Method,
  mergePosts,
  type PluginContext,
  Type,
} from 'mediagate';
import { limitationsOf, partsOf, rankReadings } from './assemble.js';
import { type Facts, resolveFacts } from './facts.js';
import { createRequests, type Page, type Requests, readSession, resolveShareLink, type Session } from './fetch.js';
import { LINK_FORMS, matchPost } from './links.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { readEmbedPage } from './read/embed.js';
import { readPermalinkPage } from './read/page.js';
import { type Found, GATED, isReadable, isWhole, isWorthwhile, type PostOutcome, readRuling } from './read/reading.js';
import { outcomeOfReply } from './read/reply.js';
import { hasPrivateKey, identityOf, type PostIdentity } from './shortcode.js';

const options = Type.Object(
  {
    /** Members of facts.json that an entry sets otherwise, in the same shape. */
    facts: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
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
  facts?: FactsOverride;
}

/** @throws TypeError where `options.facts` does not fit the shipped facts. */
function createPhotoExtractor(context: PluginContext<PhotoOptions>): Extractor {
  const { http, clock, logger, options } = context;
  const facts = resolveFacts(options.facts);
  const chain = createFallbackChain<Found, PostCall>({
    platform: PLATFORM,
    clock,
    logger,
    methods: createMethods({ requests: createRequests({ http, facts }), facts }),
    isEnough: (parts) => {
      const readings = parts.flatMap(({ found }) => found);
      return isReadable(readings) && isWhole(readings);
    },
    isWorthwhile: (parts) => isWorthwhile(parts.flatMap(({ found }) => found)),
  });

  async function read({ link, signal, only }: ExtractCall) {
    const identity = identityOf(link.id);
    const climb = await chain.run({ identity, outcomes: new Map() }, signal, only);
    const readings = rankReadings(climb.parts);
    return { climb, readings, data: mergePosts(partsOf(readings, identity)) };
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
      return resolveShareLink({ http, facts, link, signal });
    },

    async extract(call): Promise<Extraction> {
      const { climb, readings, data } = await read(call);
      return {
        method: climb.parts.map(({ method }) => method).join('+'),
        data,
        limitations: limitationsOf(data, readings, climb),
        audio: chooseSound(data.media.entries ?? []) !== undefined,
        partial: climb.partial,
      };
    },

    async resolveAudio(call): Promise<AudioSource> {
      const { data } = await read(call);
      const sound = chooseSound(data.media.entries ?? []);
      if (!sound) {
        throw new GatewayError('audio_unavailable', 'The platform gives no file with the sound of the post.', {
          platform: PLATFORM,
        });
      }
      const length = sound.duration_seconds ?? data.common.duration_seconds;
      return {
        url: sound.url,
        headers: { 'user-agent': facts.userAgent, referer: `${facts.origin}/` },
        ...(sound.mime && { mime: sound.mime }),
        ...(length && { durationSeconds: length }),
      };
    },
  };
}

/** The first sound track (the lists begin with the smallest) before the smallest video with sound. */
function chooseSound(entries: readonly MediaEntry[]): MediaEntry | undefined {
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
  facts: Facts;
}

/**
 * The ways to a post, best first. The post's page has all of it, or its tags alone; an embed has all pictures and exact
 * counters; the queries of the site's own code have everything where the site trusts us. Where nothing was had, a ruling
 * tells why. No "no" but the ruling's is final: the site says the same of what is gone and of what it will not show.
 */
function createMethods({ requests, facts }: MethodSettings): Method<Found, PostCall>[] {
  const nothingYet = ({ outcomes }: PostCall) => !isReadable(foundIn(outcomes)) && !isExplained(outcomes);

  const method = (
    name: string,
    options: Pick<Method<Found, PostCall>, 'cost' | 'definitive' | 'usable'>,
    run: (call: PostCall, signal: AbortSignal) => Promise<PostOutcome>,
  ): Method<Found, PostCall> => ({
    name,
    ...options,
    async run(call, signal) {
      const outcome = weigh(await run(call, signal), call);
      call.outcomes.set(name, outcome);
      return outcome;
    },
  });

  /** @throws GatewayError where no page gives what a query must bring along. */
  async function sessionFor(call: PostCall, signal: AbortSignal): Promise<Session> {
    // Looking for it costs as much as reading the page, and few posts take a query.
    call.session ??= call.page && readSession(call.page, facts);
    call.session ??= readSession(await requests.home(signal), facts);
    if (call.session) return call.session;
    throw new GatewayError('upstream_refused', 'The platform’s home page lacks what a query needs.', {
      reason: 'a home page without a token',
    });
  }

  const query = (name: 'post' | 'shortcode') => async (call: PostCall, signal: AbortSignal) => {
    const session = await sessionFor(call, signal);
    return outcomeOfReply(await requests.query(name, call.identity, session, signal), call.identity, facts);
  };

  return [
    method('permalink', { cost: 3, definitive: false }, async (call, signal) => {
      const page = await requests.permalink(call.identity, signal);
      if (page === 'missing') return notThere('HTTP 404');
      if (page === 'login') return behindLogin(call.identity);
      call.page = page;
      return readPermalinkPage(page.html, call.identity, facts);
    }),
    method('embed', { cost: 2, definitive: false }, async ({ identity }, signal) => {
      const html = await requests.embed(identity, signal);
      return html === undefined ? notThere('HTTP 404') : readEmbedPage(html, identity, facts);
    }),
    method('graphql_post', { cost: 2, definitive: false }, query('post')),
    method('graphql_shortcode', { cost: 1, definitive: false }, query('shortcode')),
    method('media_info', { cost: 1, definitive: false, usable: nothingYet }, async ({ identity }, signal) => {
      const reply = await requests.mediaInfo(identity, signal);
      return reply === undefined ? notThere('HTTP 404') : outcomeOfReply(reply, identity, facts);
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
      if (words) return readRuling(words, facts.phrases);
      return { kind: 'transient', code: 'upstream_refused', reason: 'the post is not shown, and no reason is given' };
    }),
  ];
}

function notThere(reason: string): PostOutcome {
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
function weigh(outcome: PostOutcome, { identity, outcomes }: PostCall): PostOutcome {
  if (outcome.kind !== 'definitive' || outcome.code !== 'removed') return outcome;
  if (hasPrivateKey(identity.shortcode)) return { ...outcome, code: 'private' };
  return refusalsIn(outcomes).length > 0
    ? { kind: 'transient', code: 'upstream_refused', reason: outcome.reason }
    : outcome;
}

/** Whether an answer told why the post is not shown; that it stands behind a gate may have several reasons. */
function isExplained(outcomes: ReadonlyMap<string, PostOutcome>): boolean {
  return refusalsIn(outcomes).some((outcome) => outcome !== GATED);
}

/** Answers that said more than that there is nothing. */
function refusalsIn(outcomes: ReadonlyMap<string, PostOutcome>): PostOutcome[] {
  return [...outcomes.values()].filter((outcome) => outcome.kind === 'definitive' && outcome.code !== 'removed');
}

/** What the methods found so far. */
function foundIn(outcomes: ReadonlyMap<string, PostOutcome>): Found {
  return [...outcomes.values()].flatMap((outcome) => (outcome.kind === 'transient' ? [] : (outcome.found ?? [])));
}
