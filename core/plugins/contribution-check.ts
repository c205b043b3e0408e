import type { ContributionKind, Contributions, Plugin } from '../contracts/index.js';
import { isRecord, type JsonRecord } from '../extraction/scraping/index.js';

/** Where `setup` returns what each kind names. */
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

/** In addresses, figures and cache keys. */
const PLATFORM = /^[a-z][a-z0-9_]{0,39}$/;

/**
 * Holds what `setup` returned to its contract as far as that can be seen before the first call: plugins need not be written in
 * a language that knows types.
 * @throws Error naming the member, and what it must be.
 */
export function checkContributions({ provides }: Plugin, contributions: Contributions): void {
  const unknown = provides.find((kind) => !KINDS.includes(kind));
  if (unknown !== undefined) throw new Error(`"provides" names ${unknown}; there are ${KINDS.join(', ')}`);
  if (!isRecord(contributions)) throw new Error('setup returned nothing');
  for (const kind of KINDS) {
    const name = CONTRIBUTION_LISTS[kind];
    const list: unknown = contributions[name];
    if (list !== undefined && !Array.isArray(list)) throw new Error(`setup returned ${name} that are no list`);
    const isGiven = list !== undefined && list.length > 0;
    if (isGiven && !provides.includes(kind)) {
      throw new Error(`setup returned ${name}, which "provides" does not name`);
    }
    if (!isGiven && provides.includes(kind)) throw new Error(`"provides" names ${kind}, and setup returned no ${name}`);
    for (const [index, contribution] of (list ?? []).entries()) {
      const at = `${name}.${index}`;
      if (!isRecord(contribution)) throw new Error(`${at} must be an object`);
      CHECKS[kind](contribution, at);
    }
  }
}

function checkExtractor(extractor: JsonRecord, at: string): void {
  const { platform, audio } = extractor;
  if (typeof platform !== 'string' || !PLATFORM.test(platform)) {
    throw new Error(`${at}.platform must be 1 to 40 small letters, digits and underscores, a letter first`);
  }
  mustBeText(extractor.displayName, `${at}.displayName`);
  mustBeList(extractor.linkForms, `${at}.linkForms`, mustBeText);
  for (const name of ['match', 'extract'] as const) mustBeFunction(extractor, name, at);
  if (audio) mustBeFunction(extractor, 'resolveAudio', at);
}

function checkImageProvider(provider: JsonRecord, at: string): void {
  mustBeList(provider.models, `${at}.models`, mustBeText);
  mustBeFunction(provider, 'generate', at);
}

function checkAudioProvider(provider: JsonRecord, at: string): void {
  mustBeList(provider.models, `${at}.models`, (model, place) => {
    checkModel(model, place);
    const { maxCharacters = 1 } = model;
    if (!Number.isSafeInteger(maxCharacters) || Number(maxCharacters) < 1)
      throw new Error(`${place}.maxCharacters must be a whole number from 1`);
    mustBeList(model.operations, `${place}.operations`, (operation, named) => {
      mustBeText(operation, named);
      mustBeFunction(provider, operation, at);
    });
  });
}

function checkTextProvider(provider: JsonRecord, at: string): void {
  mustBeList(provider.models, `${at}.models`, (model, place) => {
    checkModel(model, place);
    for (const name of ['routes', 'efforts'] as const) mustBeList(model[name], `${place}.${name}`, mustBeText, 0);
  });
  mustBeFunction(provider, 'send', at);
}

function checkModel(model: unknown, place: string): asserts model is JsonRecord {
  if (!isRecord(model)) throw new Error(`${place} must be an object`);
  mustBeText(model.id, `${place}.id`);
}

function mustBeFunction(owner: JsonRecord, name: string, at: string): void {
  if (typeof owner[name] !== 'function') throw new Error(`${at}.${name} must be a function`);
}

function mustBeText(value: unknown, place: string): asserts value is string {
  if (typeof value !== 'string' || value === '') throw new Error(`${place} must be a text`);
}

function mustBeList(
  value: unknown,
  place: string,
  check: (element: unknown, place: string) => void,
  least = 1,
): asserts value is readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${place} must be a list`);
  if (value.length < least) throw new Error(`${place} must not be empty`);
  for (const [index, element] of value.entries()) check(element, `${place}.${index}`);
}
