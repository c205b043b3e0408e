/*
 * What the setup of a plugin returned: the check against its contract, as far as possible before the first call,
 * because plugins need not be typed, and the names that it serves. What `match` of an extractor returns is checked at
 * each call. Every error names the field and what it must be.
 */

import type { ContributionKind, Contributions, ImageFormat, LinkMatch, Plugin, TextModel } from '../contracts/index.js';
import { createValidator, isRecord, type JsonRecord } from '../runtime/index.js';

/** The field of `setup`'s result for each kind. */
export const CONTRIBUTION_LISTS: Readonly<Record<ContributionKind, Exclude<keyof Contributions, 'dispose'>>> = {
  extractor: 'extractors',
  image: 'imageProviders',
  audio: 'audioProviders',
  text: 'textProviders',
  identity: 'identityProviders',
};

const KINDS = Object.keys(CONTRIBUTION_LISTS) as ContributionKind[];

const CHECKS: Readonly<Record<ContributionKind, (contribution: JsonRecord, at: string) => void>> = {
  extractor: checkExtractor,
  image: checkImageProvider,
  audio: checkAudioProvider,
  text: checkTextProvider,
  identity: (provider, at) => mustBeFunction(provider, 'open', at),
};

/** Used in URLs, metrics and cache keys. */
const PLATFORM = /^[a-z][a-z0-9_]{0,39}$/;

/**
 * Checks what `setup` returned against its contract, as far as possible before the first call: plugins need not be
 * written in a typed language.
 * @throws Error naming the field, and what it must be.
 */
export function checkContributions({ provides }: Plugin, contributions: Contributions): void {
  const unknown = provides.find((kind) => !KINDS.includes(kind));
  if (unknown !== undefined) throw new Error(`"provides" has ${unknown}, which is unknown. Known: ${KINDS.join(', ')}`);
  if (!isRecord(contributions)) throw new Error('setup returned nothing');
  for (const kind of KINDS) {
    const name = CONTRIBUTION_LISTS[kind];
    const list: unknown = contributions[name];
    if (list !== undefined && !Array.isArray(list)) throw new Error(`setup returned ${name} that are not a list`);
    const isGiven = list !== undefined && list.length > 0;
    if (isGiven && !provides.includes(kind)) {
      throw new Error(`setup returned ${name}, which "provides" does not list`);
    }
    if (!isGiven && provides.includes(kind)) throw new Error(`"provides" lists ${kind}, but setup returned no ${name}`);
    for (const [index, contribution] of (list ?? []).entries()) {
      const at = `${name}.${index}`;
      if (!isRecord(contribution)) throw new Error(`${at} must be an object`);
      CHECKS[kind](contribution, at);
    }
  }
}

function checkExtractor(extractor: JsonRecord, at: string): void {
  const { platform, audio, requestOptions } = extractor;
  if (typeof platform !== 'string' || !PLATFORM.test(platform)) {
    throw new Error(`${at}.platform must have 1 to 40 small letters, digits and underscores, and begin with a letter`);
  }
  mustBeText(extractor.displayName, `${at}.displayName`);
  mustBeList(extractor.linkForms, `${at}.linkForms`, mustBeText);
  for (const name of ['match', 'extract'] as const) mustBeFunction(extractor, name, at);
  if (audio) mustBeFunction(extractor, 'resolveAudio', at);
  if (requestOptions !== undefined) checkRequestOptions(requestOptions, `${at}.requestOptions`);
}

const OPTION_NAME = /^[a-z][A-Za-z0-9]{0,39}$/;

function checkRequestOptions(schema: unknown, at: string): void {
  if (!isRecord(schema) || !isRecord(schema.properties)) throw new Error(`${at} must be a JSON schema of an object`);
  const wrong = Object.keys(schema.properties).find((name) => !OPTION_NAME.test(name));
  if (wrong !== undefined) throw new Error(`${at} has "${wrong}", but option names must be in camelCase`);
  const checked = createValidator(schema).check({});
  if (checked.ok) return;
  const { path = '', message = 'is not valid' } = checked.issues[0] ?? {};
  throw new Error(`${at} must give each option a default, or make it optional: ${path} ${message}`);
}

const IMAGE_FORMATS: ReadonlySet<unknown> = new Set<ImageFormat>(['png', 'jpeg', 'webp']);

function checkImageProvider(provider: JsonRecord, at: string): void {
  mustBeList(provider.models, `${at}.models`, (model, path) => {
    checkModel(model, path);
    const { maxReferences: max, takesMask = false } = model;
    if (!Number.isSafeInteger(max) || Number(max) < 0)
      throw new Error(`${path}.maxReferences must be a whole number from 0`);
    if (typeof takesMask !== 'boolean') throw new Error(`${path}.takesMask must be true or false`);
    mustBeList(model.formats, `${path}.formats`, (format, named) => {
      if (!IMAGE_FORMATS.has(format)) throw new Error(`${named} must be "png", "jpeg" or "webp"`);
    });
  });
  mustBeFunction(provider, 'generate', at);
}

function checkAudioProvider(provider: JsonRecord, at: string): void {
  mustBeList(provider.models, `${at}.models`, (model, path) => {
    checkModel(model, path);
    const { maxCharacters = 1 } = model;
    if (!Number.isSafeInteger(maxCharacters) || Number(maxCharacters) < 1)
      throw new Error(`${path}.maxCharacters must be a whole number from 1`);
    mustBeList(model.operations, `${path}.operations`, (operation, named) => {
      mustBeText(operation, named);
      mustBeFunction(provider, operation, at);
    });
  });
}

function checkTextProvider(provider: JsonRecord, at: string): void {
  mustBeList(provider.models, `${at}.models`, (model, path) => {
    checkModel(model, path);
    const { outputLimitField: field = 'max_tokens' } = model;
    for (const name of ['maxOutputTokens', 'contextLength'] as const) {
      const max = model[name] ?? 1;
      if (!(Number.isSafeInteger(max) && Number(max) > 0))
        throw new Error(`${path}.${name} must be a whole number above 0`);
    }
    mustBeText(field, `${path}.outputLimitField`);
    for (const name of ['routes', 'efforts'] as const) mustBeList(model[name], `${path}.${name}`, mustBeText, 0);
    mustBeList(model.translated ?? [], `${path}.translated`, mustBeText, 0);
    mustBeList(model.fallbacks ?? [], `${path}.fallbacks`, mustBeText, 0);
  });
  mustBeFunction(provider, 'send', at);
}

function checkModel(model: unknown, path: string): asserts model is JsonRecord {
  if (!isRecord(model)) throw new Error(`${path} must be an object`);
  mustBeText(model.id, `${path}.id`);
}

/** @throws Error naming what is wrong: plugins need not be written in a typed language. */
export function checkMatch(match: LinkMatch): LinkMatch {
  if (match === undefined) return undefined;
  if (!isRecord(match)) throw new Error('match returned no object');
  if (match.unsupported !== undefined) mustBeText(match.unsupported, 'unsupported');
  else for (const name of ['kind', 'id', 'url']) mustBeText(match[name], `the match's ${name}`);
  if (match.access !== undefined) mustBeText(match.access, "the match's access");
  if (match.moves !== undefined && typeof match.moves !== 'boolean')
    throw new Error("the match's moves must be a boolean");
  return match;
}

function mustBeFunction(owner: JsonRecord, name: string, at: string): void {
  if (typeof owner[name] !== 'function') throw new Error(`${at}.${name} must be a function`);
}

function mustBeText(value: unknown, path: string): asserts value is string {
  if (typeof value !== 'string' || value === '') throw new Error(`${path} must be a text`);
}

function mustBeList(
  value: unknown,
  path: string,
  check: (element: unknown, path: string) => void,
  min = 1,
): asserts value is readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${path} must be a list`);
  if (value.length < min) throw new Error(`${path} must not be empty`);
  for (const [index, element] of value.entries()) check(element, `${path}.${index}`);
}

/** What only one instance may serve: for an audio model, each operation. */
export function claimed(contributions: Contributions): string[] {
  const { audioProviders = [], ...others } = contributions;
  const operations = audioProviders.flatMap(({ models }) =>
    models.flatMap((model) => model.operations.map((operation) => `${model.id} (${operation})`)),
  );
  return [...namesServed(others), ...operations];
}

export function modelsServed({
  imageProviders = [],
  audioProviders = [],
  textProviders = [],
}: Contributions): string[] {
  return [...imageProviders, ...audioProviders, ...textProviders].flatMap(({ models }) => models.map(({ id }) => id));
}

export function modelsOf({ textProviders = [] }: Contributions): TextModel[] {
  return textProviders.flatMap(({ models }) => models);
}

/** @throws Error if the fallbacks of a model lead back to it. */
export function checkFallbacks(models: readonly TextModel[]): void {
  const next = new Map(models.map(({ id, fallbacks = [] }) => [id, fallbacks]));
  const done = new Set<string>();
  const visit = (id: string, way: readonly string[]): void => {
    if (way.includes(id)) throw new Error(`the fallbacks of ${id} lead back to it: ${[...way, id].join(', ')}`);
    if (done.has(id)) return;
    for (const fallback of next.get(id) ?? []) visit(fallback, [...way, id]);
    done.add(id);
  };
  for (const { id } of models) visit(id, []);
}

/** Platform keys, model ids, and `sign-in` for an identity provider. */
export function namesServed(contributions: Contributions): string[] {
  return [
    ...(contributions.extractors ?? []).map(({ platform }) => platform),
    ...modelsServed(contributions),
    ...(contributions.identityProviders ?? []).map(() => 'sign-in'),
  ];
}
