import {
  createFallbackChain,
  type ExtractCall,
  type Extraction,
  type Extractor,
  type HttpResponse,
  mergePosts,
  type Outcome,
  type PartialPost,
  type PluginContext,
  retryAfterSeconds,
} from 'mediagate';
import facts from './facts.json' with { type: 'json' };
import { matchLink } from './links.js';
import { readApiReply, readPage } from './parse.js';
import probeLinks from './probe-links.json' with { type: 'json' };

type Found = Outcome<PartialPost>;

export function createReelboxExtractor(context: PluginContext<{ apiKey?: string; language: string }>): Extractor {
  const { http, options, clock, logger } = context;

  async function fromApi({ link }: ExtractCall, signal: AbortSignal): Promise<Found> {
    const response = await http.request({
      url: `${facts.apiUrl}${link.id}?lang=${options.language}`,
      headers: { 'user-agent': facts.userAgent, 'x-api-key': options.apiKey ?? '' },
      signal,
    });
    return readStatus(response) ?? readApiReply(response.json(), link.id);
  }

  async function fromPage({ link }: ExtractCall, signal: AbortSignal): Promise<Found> {
    const response = await http.request({
      url: `${facts.pageUrl}${link.id}`,
      headers: { 'user-agent': facts.userAgent, 'accept-language': options.language },
      signal,
    });
    return readStatus(response) ?? readPage(response.text(), link.id);
  }

  const chain = createFallbackChain<PartialPost, ExtractCall>({
    platform: '_template',
    clock,
    logger,
    methods: [
      { name: 'api', cost: 1, definitive: true, available: () => options.apiKey !== undefined, run: fromApi },
      { name: 'page', cost: 2, definitive: false, run: fromPage },
    ],
    isEnough: (parts) => parts.some(({ found }) => found.metrics?.views !== undefined && found.media?.video_urls),
    isWorthwhile: (parts) => parts.some(({ found }) => found.common?.title !== undefined),
  });

  return {
    platform: '_template',
    displayName: 'Reelbox',
    linkForms: ['https://reelbox.example/clip/{id}', 'https://m.reelbox.example/c/{id}'],
    match: matchLink,
    methods: chain.methods,
    probeLinks,
    async extract(call): Promise<Extraction> {
      const { parts, limitations, partial } = await chain.run(call, call.signal, call.only);
      return {
        method: parts.map(({ method }) => method).join('+'),
        data: mergePosts(parts),
        limitations,
        partial,
      };
    },
  };
}

/** What the status alone says; undefined where the body must be read. */
function readStatus(response: HttpResponse): Found | undefined {
  const { status } = response;
  if (status === 429) {
    return { kind: 'transient', code: 'upstream_rate_limited', retryAfterSeconds: retryAfterSeconds(response) };
  }
  if (status >= 500) return { kind: 'transient', code: 'upstream_error', reason: `HTTP ${status}` };
  if (status === 404) return { kind: 'definitive', code: 'removed' };
  return status === 200 ? undefined : { kind: 'transient', code: 'upstream_refused', reason: `HTTP ${status}` };
}
