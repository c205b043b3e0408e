/*
 * The options of a request that change what an extractor fetches. Each extractor declares its own (`requestOptions`),
 * and gets all of them, with defaults. One request may be for links of several platforms, so an option that another
 * extractor of the gateway declares is left out; an option that none declares is refused.
 */

import { type Extractor, type ExtractRequest, type RequestOptions } from '../contracts/index.js';
import { type Registry } from '../plugins/index.js';
import { closestMatch, createValidator, GatewayError, type Validator } from '../runtime/index.js';

const validators = new WeakMap<object, Validator<unknown>>();

const defaults = new WeakMap<object, RequestOptions>();

const NONE: RequestOptions = Object.freeze({});

/** The extractor's options for a request that sets none. */
export function defaultRequestOptions({ requestOptions }: Pick<Extractor, 'requestOptions'>): RequestOptions {
  if (!requestOptions) return NONE;
  const known = defaults.get(requestOptions) ?? Object.freeze(checked(requestOptions, {}));
  defaults.set(requestOptions, known);
  return known;
}

/**
 * The extractor's options for a request, with defaults.
 * @param registry Every extractor of the gateway.
 * @throws GatewayError `unsupported_parameter` for an option that no extractor declares, `invalid_value` for a value that
 *   the extractor's schema does not allow; `param` is the option, as the request calls it.
 */
export function readRequestOptions(
  extractor: Extractor,
  { options: given, optionName }: Pick<ExtractRequest, 'options' | 'optionName'>,
  registry: Pick<Registry, 'extractors'>,
): RequestOptions {
  const own: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given ?? NONE)) {
    if (value === undefined) continue;
    if (declares(extractor, name)) own[name] = value;
    else if (!registry.extractors.some(({ contribution }) => declares(contribution, name)))
      throw unknownOption(name, registry);
  }
  const { requestOptions } = extractor;
  return requestOptions && Object.keys(own).length > 0
    ? checked(requestOptions, own, optionName)
    : defaultRequestOptions(extractor);
}

/** The options as text for cache keys: equal texts mean equal results. Undefined if the extractor has none. */
export function requestOptionsKey({ requestOptions }: Extractor, options: RequestOptions): string | undefined {
  const names = Object.keys(requestOptions?.properties ?? {});
  if (names.length === 0) return undefined;
  return names.map((name) => textOf(options[name])).join(':');
}

/** Words that no other value has as its text. */
const WORD = /^(?!(?:true|false|null|undefined)$)[A-Za-z][\w-]*$/;

function textOf(value: unknown): string {
  return typeof value === 'string' && WORD.test(value)
    ? value
    : encodeURIComponent(JSON.stringify(value) ?? 'undefined');
}

function declares({ requestOptions }: Extractor, name: string): boolean {
  return requestOptions !== undefined && Object.hasOwn(requestOptions.properties, name);
}

function checked(
  schema: NonNullable<Extractor['requestOptions']>,
  options: RequestOptions,
  optionName = (option: string) => option,
): RequestOptions {
  const validator = validators.get(schema) ?? createValidator(schema);
  validators.set(schema, validator);
  const result = validator.check(options);
  if (result.ok) return result.value as RequestOptions;
  const { path = '', message = 'is not valid' } = result.issues[0] ?? {};
  const [option = '', ...inner] = path.split('.');
  const param = optionName(option);
  throw new GatewayError('invalid_value', `The option ${[param, ...inner].join('.')} ${message}.`, { param });
}

function unknownOption(name: string, { extractors }: Pick<Registry, 'extractors'>): GatewayError {
  const options = extractors.flatMap(({ contribution }) => Object.keys(contribution.requestOptions?.properties ?? {}));
  const known = [...new Set(options)];
  const shown = name.slice(0, 100);
  const match = closestMatch(shown, known);
  const offered = match === undefined ? `Known: ${known.join(', ') || 'none'}.` : `Did you mean "${match}"?`;
  const message = `No platform has the request option ${JSON.stringify(shown)}. ${offered}`;
  return new GatewayError('unsupported_parameter', message, { param: shown });
}
