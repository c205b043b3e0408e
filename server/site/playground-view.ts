import type { Clock, Gateway } from 'mediagate';
import type { UserRecord } from '../accounts/index.js';
import type { ApiKeyRecord, ApiKeys, Grant } from '../keys/index.js';
import { GRANTS, newestKey } from '../keys/index.js';
import { encodeModelList } from '../models/index.js';
import type { Catalogue } from '../plans/index.js';
import { isModelAllowed } from '../usage/index.js';
import { describeWithheld } from './plan-view.js';

/** What the playground offers: what is ready, as far as the key that it acts with goes. */
export interface PlaygroundView {
  /** Address of the gateway, without a trailing slash. */
  baseUrl: string;
  /** The key it acts with; undefined where the account has none that is good. */
  key: { id: string; name: string } | undefined;
  /** Groups of routes that the key may not use: why, and what plan opens them. */
  withheld: Readonly<Partial<Record<Grant, string>>>;
  platforms: readonly { name: string; linkForms: readonly string[] }[];
  /** Ids of models, in the order of the list of models. */
  models: Readonly<Record<'image' | 'text' | 'speak' | 'transcribe', readonly string[]>>;
}

export interface PlaygroundSources {
  account: { catalogue: Catalogue };
  state: { keys: Pick<ApiKeys, 'listOf'> };
  gateway: Pick<Gateway, 'platforms' | 'models' | 'audioProvider'>;
  clock: Clock;
  baseUrl(): string;
}

/** @throws GatewayError `upstream_unavailable`. */
export async function lookAtPlayground(sources: PlaygroundSources, user: UserRecord): Promise<PlaygroundView> {
  const { state, gateway, clock, baseUrl } = sources;
  const key = await newestKey(state.keys, user.accountId, clock.now());
  const audio = (operation: 'speak' | 'transcribe') =>
    idsOf(gateway, 'audio', key).filter((id) => gateway.audioProvider(id, operation));
  return {
    baseUrl: baseUrl(),
    key,
    withheld: key ? withheldOf(key, sources.account.catalogue) : {},
    platforms: gateway.platforms(),
    models: {
      image: idsOf(gateway, 'image'),
      text: idsOf(gateway, 'text', key),
      speak: audio('speak'),
      transcribe: audio('transcribe'),
    },
  };
}

function withheldOf(key: ApiKeyRecord, catalogue: Catalogue): PlaygroundView['withheld'] {
  const withheld = GRANTS.filter((grant) => !key.grants.includes(grant));
  return Object.fromEntries(withheld.map((grant) => [grant, describeWithheld(grant, key, catalogue)]));
}

/** @param key Leaves out the models that it may not use. Default: none is left out. */
function idsOf(gateway: Pick<Gateway, 'models'>, kind: 'image' | 'text' | 'audio', key?: ApiKeyRecord): string[] {
  const ids = gateway.models().filter((model) => model.kind === kind && (!key || isModelAllowed(key, model.id)));
  return encodeModelList(ids.map(({ id }) => id)).data.map(({ id }) => id);
}
