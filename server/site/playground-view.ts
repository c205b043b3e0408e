/*
 * Prepares what the playground and the page of images offer: models and platforms that are ready, as far as the plan of
 * the account allows them. For a group of routes that the plan does not include, it names the plans that do.
 */

import type { Gateway } from 'mediagate';
import type { Clock } from '../../core/runtime/index.js';
import type { AccountView, UserRecord } from '../accounts/index.js';
import { GRANTS, type Grant } from '../keys/index.js';
import { isWritingModel, mockEntries, orderModels } from '../models/index.js';
import { type PlanTerms, type PlanTermsOptions, termsAt } from '../plans/index.js';
import type { Prices } from '../prices/index.js';
import { isModelAllowed } from '../usage/index.js';
import type { Locale } from './language/index.js';
import { type PriceLine, pricesOf, pricesOfLinks } from './model-views.js';
import { describeWithheld, type PlanWords } from './views.js';

/** A model that can be chosen. */
export interface ModelChoice {
  id: string;
  /** Whether a mock answers. */
  isMock: boolean;
  /** Whether an image model uses a seed. */
  takesSeed?: boolean;
  /** What the account pays for it; empty if that is not known. */
  prices: readonly PriceLine[];
  /** What one image costs, by its size, as far as it is known. Default: it makes none. */
  imagePrices?: Readonly<Record<string, PriceLine>>;
}

export interface LinkExample {
  url: string;
  /** Name of the platform. */
  name: string;
}

/** What models are offered for. */
export type PlaygroundWork = 'text' | 'speak' | 'transcribe' | 'changeVoice' | 'generateSound';

/** Route groups that the plan does not allow: why, and which plan does. */
export type Withheld = Readonly<Partial<Record<Grant, string>>>;

/** What the playground offers: ready models and platforms, as far as the plan of the account allows. */
export interface PlaygroundView {
  /** Address of the gateway, without a trailing slash. */
  baseUrl: string;
  /** Scripts keep conversations of one account apart from those of another. */
  accountId: string;
  /** Currency of the costs; undefined if there are no prices. */
  currency: string | undefined;
  withheld: Withheld;
  platforms: readonly { key: string; name: string }[];
  /** Of a link, at most; empty if that is not known. */
  linkPrices: readonly PriceLine[];
  /** A link that the address names; it is not read before the visitor asks for it. */
  link?: string;
  /** A link of each platform to try. */
  examples: readonly LinkExample[];
  /** Whether recorded replies answer the examples, without the platforms. */
  isRecorded: boolean;
  /** In the order of the list of models. */
  models: Readonly<Record<PlaygroundWork, readonly ModelChoice[]>>;
}

/** What the page of images offers. */
export interface ImageOffer {
  withheld: Withheld;
  models: readonly ModelChoice[];
}

type PlaygroundPlan = Pick<PlanTerms, 'planId' | 'grants' | 'models'>;
type PlaygroundGateway = Pick<Gateway, 'platforms' | 'plugins' | 'models' | 'match' | 'audioProvider' | 'resolveModel'>;

export interface PlaygroundSources extends PlanTermsOptions {
  view: Pick<AccountView, 'account'>;
  gateway: PlaygroundGateway;
  clock: Clock;
  /** Default: none. */
  prices?: Prices;
  /** Links that recorded replies answer, in a demonstration. Default: the links of the live probes are examples. */
  recordedLinks?: readonly string[];
  baseUrl(): string;
}

/**
 * The plan is that of the internal key, which the first request makes: without one, the free tier.
 * @throws GatewayError `upstream_unavailable`.
 */
export async function loadPlayground(
  sources: PlaygroundSources,
  user: UserRecord,
  locale: Locale,
): Promise<PlaygroundView> {
  const { catalogue, gateway, prices, recordedLinks, baseUrl } = sources;
  const plan = await planOf(sources, user);
  const mocks = mockEntries(gateway);
  const audioModels = choicesOf(sources, 'audio', { mocks, plan });
  const audio = (operation: 'speak' | 'transcribe' | 'changeVoice' | 'generateSound') =>
    audioModels.filter(({ id }) => gateway.audioProvider(id, operation));
  return {
    baseUrl: baseUrl(),
    accountId: user.accountId,
    currency: prices?.currency,
    withheld: withheldOf(plan, { catalogue, locale }),
    platforms: gateway.platforms(),
    linkPrices: pricesOfLinks({ gateway, prices }),
    examples: examplesOf(gateway, recordedLinks),
    isRecorded: recordedLinks !== undefined,
    models: {
      text: choicesOf(sources, 'text', { mocks, plan }),
      speak: audio('speak'),
      transcribe: audio('transcribe'),
      changeVoice: audio('changeVoice'),
      generateSound: audio('generateSound'),
    },
  };
}

/** The first link of each platform. */
function examplesOf(gateway: PlaygroundGateway, recorded: readonly string[] | undefined): LinkExample[] {
  return gateway.platforms().flatMap(({ key, name, probeLinks }) => {
    const urls = recorded?.filter((url) => gateway.match(url).platform === key) ?? probeLinks.map(({ url }) => url);
    return urls.slice(0, 1).map((url) => ({ url, name }));
  });
}

/** @throws GatewayError `upstream_unavailable`. */
export async function loadImageOffer(
  sources: PlaygroundSources,
  user: UserRecord,
  locale: Locale,
): Promise<ImageOffer> {
  const { catalogue, gateway } = sources;
  const withheld = withheldOf(await planOf(sources, user), { catalogue, locale });
  return { withheld, models: choicesOf(sources, 'image', { mocks: mockEntries(gateway) }) };
}

async function planOf(sources: PlaygroundSources, user: UserRecord): Promise<PlaygroundPlan> {
  return termsAt((await sources.view.account(user)).plan, sources.clock.now(), sources);
}

function withheldOf({ grants, planId }: PlaygroundPlan, words: PlanWords): Withheld {
  const withheld = GRANTS.filter((grant) => !grants.includes(grant));
  return Object.fromEntries(withheld.map((grant) => [grant, describeWithheld(grant, planId, words)]));
}

/** @param options `plan` omits the models that it does not allow. Default: none is omitted. */
function choicesOf(
  { gateway, prices }: Pick<PlaygroundSources, 'gateway' | 'prices'>,
  kind: 'image' | 'text' | 'audio',
  { mocks, plan }: { mocks: ReadonlySet<string>; plan?: PlaygroundPlan },
): ModelChoice[] {
  const models = gateway.models().filter((model) => model.kind === kind && (kind !== 'text' || isWritingModel(model)));
  const ids = models.map(({ id }) => id).filter((id) => !plan || isModelAllowed(plan, id, gateway.resolveModel));
  return orderModels(ids).map((id) => {
    const own = models.filter((model) => model.id === id);
    return { id, isMock: own.every(({ entry }) => mocks.has(entry)), prices: pricesOf(id, own, prices) };
  });
}
