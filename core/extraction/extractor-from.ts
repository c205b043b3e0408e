/*
 * Builds an extractor from its declaration: how links are matched, which methods there are, how their parts become a
 * document. The fallback chain, the record of the methods' outcomes, the limitation notes and the name of the
 * extraction method are added here, so a platform has no code for them. A document is partial if a method failed for
 * now and the parts are not enough; failed methods alone do not make it partial, and the platform may decide otherwise.
 * `Item` is what methods find, such as a partial post; a method returns one or a list of them, best first. `State` is
 * what the methods of one call share, such as a page's session. Site configuration can be overridden per plugin
 * instance; an unknown or mistyped field is refused without showing its value.
 */

import {
  type AudioSource,
  type ExtractCall,
  type Extraction,
  type ExtractionData,
  type Extractor,
  type MediaEntry,
  type PluginContext,
  Type,
} from '../contracts/index.js';
import { GatewayError, isGatewayError, isRecord, TRANSIENT_CODES } from '../runtime/index.js';
import { type ChainResult, FallbackChain, type Part } from './fallback-chain.js';
import { type Method, type Outcome } from './method-run.js';

/** One call of an extractor, as its methods get it. */
export interface ItemCall<Item, State = undefined> extends Pick<ExtractCall, 'link' | 'options'> {
  /** The result of `begin`; methods may change its members. */
  readonly state: State;
  /** Method → its outcome. A method that threw or was cut off is absent. */
  readonly outcomes: ReadonlyMap<string, Outcome<readonly Item[]>>;
  /** What the methods found so far, also together with a refusal. */
  found(): readonly Item[];
}

/** A method of a declaration. Its outcomes hold one item or a list of them, best first. */
export type ItemMethod<Item, State = undefined> = Method<Item | readonly Item[], ItemCall<Item, State>>;

/** The result of one run of the methods. */
export interface ItemRun<Item, State = undefined> extends Omit<ChainResult<Item>, 'parts'> {
  /** One for each item found, in the order of the methods. */
  parts: readonly Part<Item>[];
  call: ItemCall<Item, State>;
}

export type ExtractorDeclaration<Item, State = undefined> = Omit<
  Extractor,
  'methods' | 'extract' | 'resolveAudio' | 'audio'
> & {
  /** Best first. */
  methods: readonly ItemMethod<Item, State>[];
  /** Whether the items so far make further methods unnecessary. */
  isEnough(found: readonly Item[], call: ItemCall<Item, State>): boolean;
  /** Whether the items are worth an answer although no method found enough (a title, an author and an id). */
  isWorthwhile(found: readonly Item[], call: ItemCall<Item, State>): boolean;
  /**
   * Makes the document of the parts. `method` is added. Default for `limitations`: those of the run, see
   * {@link limitationNotes}; for `partial`: that of the run. A partial document without limitations gets the note
   * `partial`, with the names of the methods that failed (`partial: page`).
   * @throws GatewayError if the parts together show that nothing may be shown.
   */
  assemble(run: ItemRun<Item, State>): Omit<Extraction, 'method'>;
  /** Another error for a run without data, e.g. if several methods met the same refusal. Default: the run's own. */
  explain?(error: GatewayError, call: ItemCall<Item, State>): GatewayError;
  /**
   * Finds where an item's audio can be fetched now; `run` runs the methods. If it is present, `audio` is true.
   * @throws GatewayError `audio_unavailable`, see {@link audioSource}, or what the platform answered.
   */
  resolveAudio?(call: ExtractCall, run: () => Promise<ItemRun<Item, State>>): Promise<AudioSource>;
  /** Milliseconds for the whole run. Default 25,000. */
  budgetMs?: number;
  /** Milliseconds for one method. Default 12,000. */
  methodMs?: number;
  /** Maximum total cost of one call. Default: no limit. */
  maxCost?: number;
} & (undefined extends State ? { begin?(call: ExtractCall): State } : { begin(call: ExtractCall): State });

/** Builds the extractor that a declaration describes. */
export function extractorFrom<Item, State = undefined>(
  { clock, hints, logger }: Pick<PluginContext<unknown>, 'clock' | 'hints' | 'logger'>,
  declaration: ExtractorDeclaration<Item, State>,
): Extractor {
  const { methods, isEnough, isWorthwhile, assemble, explain, resolveAudio, begin, ...rest } = declaration;
  const { budgetMs, methodMs, maxCost, ...contract } = rest;
  const chain = new FallbackChain<readonly Item[], RecordingCall<Item, State>>({
    platform: contract.platform,
    clock,
    hints,
    logger,
    methods: methods.map(recorded),
    isEnough: (parts, call) => isEnough(itemsOf(parts), call),
    isWorthwhile: (parts, call) => isWorthwhile(itemsOf(parts), call),
    ...(budgetMs !== undefined && { budgetMs }),
    ...(methodMs !== undefined && { methodMs }),
    ...(maxCost !== undefined && { maxCost }),
  });

  async function run(request: ExtractCall): Promise<ItemRun<Item, State>> {
    // Without `begin`, the declared state is undefined.
    const call = createCall<Item, State>(request, begin?.(request) as State);
    try {
      const result = await chain.run(call, request.signal, request.only);
      const parts = result.parts.flatMap(({ method, found }) => found.map((item) => ({ method, found: item })));
      return { ...result, parts, call };
    } catch (error) {
      throw explain && isGatewayError(error) && !request.signal.aborted ? explain(error, call) : error;
    }
  }

  return {
    ...contract,
    methods: () => chain.methods(),
    async extract(request) {
      const result = await run(request);
      const { partial } = result;
      const document = assemble(result);
      const method = [...new Set(result.parts.map((part) => part.method))].join('+');
      const extraction = { method, limitations: limitationNotes(result, document.data), partial, ...document };
      const isSilent = extraction.partial && extraction.limitations.length === 0;
      return isSilent ? { ...extraction, limitations: [partialNote(result)] } : extraction;
    },
    ...(resolveAudio && {
      audio: true,
      async resolveAudio(request) {
        try {
          return await resolveAudio(request, () => run(request));
        } catch (error) {
          throw isGatewayError(error) ? error.with({ platform: contract.platform }) : error;
        }
      },
    }),
  };
}

/** Tells clients that data is missing: `partial`, with the methods that failed. */
function partialNote({ attempts }: Pick<ChainResult<unknown>, 'attempts'>): string {
  const failures: readonly string[] = ['resting', ...TRANSIENT_CODES];
  const failed = attempts.filter(({ outcome }) => failures.includes(outcome));
  return failed.length === 0 ? 'partial' : `partial: ${failed.map(({ method }) => method).join(', ')}`;
}

interface RecordingCall<Item, State> extends ItemCall<Item, State> {
  outcomes: Map<string, Outcome<readonly Item[]>>;
}

function createCall<Item, State>({ link, options }: ExtractCall, state: State): RecordingCall<Item, State> {
  const outcomes = new Map<string, Outcome<readonly Item[]>>();
  const found = () =>
    [...outcomes.values()].flatMap((outcome) => (outcome.kind === 'transient' ? [] : (outcome.found ?? [])));
  return { link, options, state, outcomes, found };
}

/** The method, with lists of items, and its outcomes on record. */
function recorded<Item, State>(method: ItemMethod<Item, State>): Method<readonly Item[], RecordingCall<Item, State>> {
  return {
    ...method,
    async run(call, signal) {
      const outcome = listed(await method.run(call, signal));
      call.outcomes.set(method.name, outcome);
      return outcome;
    },
  };
}

function listed<Item>(outcome: Outcome<Item | readonly Item[]>): Outcome<readonly Item[]> {
  if (outcome.kind === 'transient') return outcome;
  const { found } = outcome;
  // The declaration says that an item is no array.
  const items = (Array.isArray(found) ? found : [found]) as readonly Item[];
  if (outcome.kind === 'found') return { ...outcome, found: items };
  return found === undefined ? { ...outcome, found: undefined } : { ...outcome, found: items };
}

function itemsOf<Item>(parts: readonly Part<readonly Item[]>[]): readonly Item[] {
  return parts.flatMap(({ found }) => found);
}

/**
 * The notes of a result, without repetition: the restriction it came with, those of its methods, an extractor's own,
 * and which counters the platform rounds (`stats_rounded: likes, views`) or hides (`stats_hidden: likes`).
 */
export function limitationNotes(
  { restriction, limitations }: Pick<ChainResult<unknown>, 'restriction' | 'limitations'>,
  data: ExtractionData,
  ...own: readonly (string | false | undefined)[]
): string[] {
  const metrics: object = 'metrics' in data ? data.metrics : {};
  const precision = Object.entries(data.provenance?.precision ?? {});
  const named = (how: string) =>
    precision
      .filter(([metric, one]) => one === how && !(how === 'hidden' && metric in metrics))
      .map(([metric]) => metric);
  const rounded = named('rounded');
  const hidden = named('hidden');
  const notes = [
    restriction?.code,
    ...limitations,
    ...own,
    rounded.length > 0 && `stats_rounded: ${rounded.join(', ')}`,
    hidden.length > 0 && `stats_hidden: ${hidden.join(', ')}`,
  ];
  return [...new Set(notes.filter((note) => typeof note === 'string'))];
}

/** The note that another method or source than the usual one had to answer; undefined if the first part is of it. */
export function fallbackSource(parts: readonly { method: string }[], ...usual: readonly string[]): string | undefined {
  const first = parts[0]?.method;
  return first === undefined || usual.includes(first) ? undefined : `fallback_source: ${first}`;
}

export interface AudioSourceOptions {
  /** Request headers that the media host requires. */
  headers?: Readonly<Record<string, string>>;
  /** Used if the file does not state its own duration. */
  durationSeconds?: number | undefined;
}

/**
 * The audio source in a chosen file.
 * @throws GatewayError `audio_unavailable` if there is no file.
 */
export function audioSource(file: MediaEntry | undefined, options: AudioSourceOptions = {}): AudioSource {
  if (!file) throw new GatewayError('audio_unavailable', 'The platform gives no file with the audio of the item.');
  const durationSeconds = file.duration_seconds ?? options.durationSeconds;
  return {
    url: file.url,
    ...(options.headers && { headers: options.headers }),
    ...(file.mime && { mime: file.mime }),
    ...(durationSeconds && { durationSeconds }),
  };
}

/** The option of an extractor that replaces values of its site configuration. */
export const SiteConfigSchema = Type.Optional(
  Type.Record(Type.String(), Type.Unknown(), {
    description: 'Fields of site-config.json with other values, in the same shape.',
  }),
);

/** A plugin instance's own values for members of the shipped site configuration, in the same shape. */
export type SiteConfigOverride = Readonly<Record<string, unknown>>;

/**
 * Returns what a platform changes from time to time (client versions, document ids, phrases): the shipped values, with
 * those of a plugin instance in place of theirs. Lists are replaced as a whole.
 * @throws TypeError naming a member that is unknown or of another type; never its value.
 */
export function loadSiteConfig<Config extends object>(shipped: Config, override: SiteConfigOverride = {}): Config {
  // Every member of the result has the type of the shipped one.
  return merge(shipped, override, 'siteConfig') as Config;
}

function merge(base: unknown, override: unknown, path: string): unknown {
  if (!isRecord(base)) {
    if (kindOf(base) !== kindOf(override)) throw new TypeError(`${path} must be a ${kindOf(base)}`);
    return override;
  }
  if (!isRecord(override)) throw new TypeError(`${path} must be an object`);
  const merged: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(override)) {
    if (!Object.hasOwn(base, name)) throw new TypeError(`${path} has no member "${name}"`);
    merged[name] = merge(base[name], value, `${path}.${name}`);
  }
  return merged;
}

function kindOf(value: unknown): string {
  if (!Array.isArray(value)) return typeof value;
  return `list of ${value.length > 0 ? `${typeof value[0]}s` : 'values'}`;
}
