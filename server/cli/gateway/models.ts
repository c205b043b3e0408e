/*
 * The commands that add, list and test models. Adding changes the plugins file, never the one of the package, which an
 * upgrade replaces. The changed provider is loaded first, so that its plugin checks the options, and commands at the
 * same time wait for each other. A further server is refused if it would also serve other models. A test is that of
 * the admin API, with the providers of the model alone.
 */

import { readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { Gateway } from 'mediagate';
import type { PluginEntry, TextRoute } from '../../../core/contracts/index.js';
import { parsePluginConfig, readPluginConfig, servesOf } from '../../../core/plugins/index.js';
import { withFileLock } from '../../../core/runtime/index.js';
import { type ListedModel, listModels, type ModelTest, testModel } from '../../admin/index.js';
import { renderTable, sanitizeForTerminal } from '../../format/index.js';
import { changesOf } from '../../model-changes/index.js';
import { pluginsFileOf } from '../../open-gateway.js';
import type { Settings } from '../../settings/index.js';
import { applyStoredModels } from '../../stored-models.js';
import { withGateway } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure, CommandMistake } from '../mistakes.js';
import type { Outcome } from '../output.js';
import type { addModel, testModel as testModelDeclaration } from './model-commands.js';
import { appendToList, replaceFile } from './plugins-file.js';

const PLUGIN = 'mediagate/plugins/openai_text';
const TIMEOUT_MS = 600_000;
const ROUTES: readonly TextRoute[] = ['chat_completions', 'responses', 'embeddings', 'moderations'];

export type AddModelOptions = OptionsOf<typeof addModel>;

/** An entry as it is in the file. The file was checked before. */
interface FileEntry {
  id?: string;
  use: string;
  enabled?: unknown;
  options?: { models?: unknown; upstreams?: unknown };
}

/** Adds a model to the plugins file. Running gateways read it when they start. */
export async function addModelCommand(
  settings: Settings,
  id: string,
  options: AddModelOptions,
): Promise<Outcome<'AddedModel'>> {
  if (options.live) return (await import('./model-changes.js')).addLiveModel(settings, id, options);
  const { file, isPackaged } = pluginsFileOf(settings);
  if (isPackaged) {
    const advice = `Copy it to the folder where the gateway is started, and repeat the command there: cp ${file} .`;
    throw new CommandFailure(`The plugins file is the one of the package, which an upgrade replaces. ${advice}`, 2);
  }
  const model = modelOf(id, options);
  // Commands at the same time wait for each other: each reads what the one before it wrote.
  const target = await realpath(file).catch(() => file);
  return (await withFileLock(target, () => addToFile(settings, file, model, options))) ?? { exitCode: 1 };
}

async function addToFile(
  settings: Settings,
  file: string,
  model: { id: string },
  options: AddModelOptions,
): Promise<Outcome<'AddedModel'>> {
  const { id } = model;
  const { keyVariable, upstream, url } = options;
  const entries = await readPluginConfig(file, process.env);
  const holder = entries.find((entry) => !entry.fallback && servesOf(entry).includes(id));
  const isFurther = upstream !== undefined && url !== undefined;
  if (holder && !isFurther) {
    const message = `The model ${id} exists already: the provider ${holder.id ?? 'without an id'} of ${file} serves it.`;
    throw new CommandFailure(`${message} Choose another name; --model keeps the name at the server.`, 2);
  }
  const text = await readFile(file, 'utf8');
  const { plugins } = JSON.parse(text) as { plugins: FileEntry[] };
  const { provider, changed } = holder
    ? withUpstream(text, plugins, { id, ...options })
    : withModel(text, plugins, model, options);
  const entry = parsePluginConfig(changed, file, process.env).find(
    (one) => servesOf(one).includes(id) && !one.fallback,
  );
  if (entry) await checkEntry(settings, entry);
  await replaceFile(file, text, changed);
  const trial = `To try it: mediagate models test ${id}`;
  if (holder) {
    const added = `Added the upstream ${upstream} to the model ${id}, provider ${provider}, in ${file}.`;
    const json = { id, provider, file, upstream: { name: upstream, url } };
    return { json, text: `${added}\nRestart the gateway. ${trial}` };
  }
  const isUnset = keyVariable !== undefined && !process.env[keyVariable];
  const advice = isUnset
    ? `Set ${keyVariable} to the key of the server, and restart the gateway.`
    : 'Restart the gateway.';
  const added = `Added ${id} to the provider ${provider} in ${file}.`;
  return { json: { id, provider, file, model }, text: `${added}\n${advice} ${trial}` };
}

/**
 * Adds a further server to a model that exists.
 * @throws CommandMistake, CommandFailure if the server would serve other models as well.
 */
function withUpstream(
  text: string,
  plugins: readonly FileEntry[],
  { id, upstream: name, url, keyVariable, model, provider }: AddModelOptions & { id: string },
): { provider: string; changed: string } {
  if (provider !== undefined) throw new CommandMistake(`Send --url without --provider: ${id} has a provider already.`);
  checkKeyVariable(keyVariable);
  const index = plugins.findIndex((entry) => listedIn(entry).some((one) => one.id === id));
  const found = plugins[index];
  const place = listedIn(found).findIndex((one) => one.id === id);
  const listed = listedIn(found)[place];
  if (!found || !listed || !Array.isArray(found.options?.upstreams)) {
    throw new CommandFailure(`The provider of ${id} has no lists of models and upstreams in its options.`, 2);
  }
  if (listed.upstream !== undefined) {
    const advice = 'Replace "upstream" by the list "upstreams" in the file first.';
    throw new CommandFailure(`${id} is at the one upstream ${String(listed.upstream)}. ${advice}`, 2);
  }
  const others = listedIn(found).filter((one) => one.id !== id && !one.upstream && !one.upstreams);
  if (others.length > 0) {
    const names = others.map((other) => String(other.id)).join(', ');
    const advice = 'Give each of them "upstreams" in the file, or move the model to a provider of its own.';
    throw new CommandFailure(`The server would also get ${names}, since they are at all upstreams. ${advice}`, 2);
  }
  const apiKey = keyVariable === undefined ? {} : { apiKey: { $env: keyVariable } };
  const server = { name, url, ...apiKey, ...(model !== undefined && { model }) };
  const withServer = appendToList(text, ['plugins', index, 'options', 'upstreams'], server);
  const path = ['plugins', index, 'options', 'models', place, 'upstreams'];
  const changed = Array.isArray(listed.upstreams) ? appendToList(withServer, path, { name }) : withServer;
  return { provider: nameOf(found), changed };
}

function listedIn(entry: FileEntry | undefined): readonly { id?: unknown; upstream?: unknown; upstreams?: unknown }[] {
  const { models } = entry?.options ?? {};
  return Array.isArray(models) ? models : [];
}

function checkKeyVariable(name: string | undefined): void {
  if (name === undefined || /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return;
  throw new CommandMistake('--key-variable must be the name of an environment variable, never the key itself.');
}

/** @throws CommandMistake */
function modelOf(id: string, { model, routes, contextLength, upstream }: AddModelOptions) {
  const listed = routes?.split(/[,\s]+/).filter((route) => route !== '') ?? [];
  const unknown = listed.find((route) => !ROUTES.some((one) => one === route));
  if (unknown !== undefined)
    throw new CommandMistake(`--routes ${unknown} is no route. Accepted: ${ROUTES.join(', ')}.`);
  return {
    id,
    ...(upstream !== undefined && { upstream }),
    ...(model !== undefined && { model }),
    ...(listed.length > 0 && { routes: listed }),
    ...(contextLength !== undefined && { contextLength }),
  };
}

/** Adds the model to the provider that is named or has the address, or to a new one. @throws CommandMistake */
function withModel(
  text: string,
  plugins: readonly FileEntry[],
  model: { id: string },
  { url, keyVariable, provider }: AddModelOptions,
): { provider: string; changed: string } {
  if ((url === undefined) === (provider === undefined)) {
    throw new CommandMistake('Send either --url, the address of the server, or --provider, the id of a provider.');
  }
  if (provider !== undefined && keyVariable !== undefined) {
    throw new CommandMistake('--key-variable is for a new provider; one that exists has its key already.');
  }
  checkKeyVariable(keyVariable);
  const upstream = { url, ...(keyVariable !== undefined && { apiKey: { $env: keyVariable } }) };
  const index = plugins.findIndex((entry) =>
    provider === undefined ? isOnlyUpstream(entry, upstream) : nameOf(entry) === provider,
  );
  const found = plugins[index];
  if (found) {
    const { models } = found.options ?? {};
    if (!Array.isArray(models)) {
      throw new CommandMistake(`The provider ${nameOf(found)} has no list of models in its options.`);
    }
    return { provider: nameOf(found), changed: appendToList(text, ['plugins', index, 'options', 'models'], model) };
  }
  if (provider !== undefined)
    throw new CommandMistake(`There is no provider ${provider}. "mediagate plugins" lists them.`);
  const id = freeId(url ?? '', plugins);
  const entry = { id, use: PLUGIN, options: { models: [model], upstreams: [upstream] }, timeoutMs: TIMEOUT_MS };
  return { provider: id, changed: appendToList(text, ['plugins'], entry) };
}

function nameOf({ id, use }: FileEntry): string {
  return id ?? path.basename(use);
}

/** Whether this is the server of all models of the entry, with the same key. */
function isOnlyUpstream({ use, enabled, options = {} }: FileEntry, upstream: object): boolean {
  const { models, upstreams } = options;
  if (use !== PLUGIN || enabled !== undefined || !Array.isArray(models) || !Array.isArray(upstreams)) return false;
  return upstreams.length === 1 && JSON.stringify(upstreams[0]) === JSON.stringify(upstream);
}

/** From the host of the address, e.g. `127.0.0.1-11434`. */
function freeId(url: string, plugins: readonly FileEntry[]): string {
  const host = URL.canParse(url) ? new URL(url).host : '';
  const base =
    host
      .toLowerCase()
      .replace(/[^a-z0-9.]+/g, '-')
      .replace(/^[-.]+|[-.]+$/g, '')
      .slice(0, 50) || 'models';
  const taken = new Set(plugins.map(nameOf));
  let id = base;
  for (let count = 2; taken.has(id); count++) id = `${base}-${count}`;
  return id;
}

/**
 * Loads the changed provider, so that its plugin checks the options. A missing value of a variable is no mistake of the
 * command.
 * @throws CommandFailure
 */
function checkEntry(settings: Settings, entry: PluginEntry): Promise<void> {
  return withGateway(settings, async (gateway) => checkLoaded(gateway), { plugins: [entry], quiet: true });
}

function checkLoaded(gateway: Gateway): void {
  const failed = gateway.plugins().find(({ state }) => state === 'failed');
  if (!failed || failed.variables.names.some((name) => !process.env[name])) return;
  throw new CommandFailure(`The model cannot be added: ${failed.reason}.`, 2);
}

/** The models that the plugins file serves with this environment, and where. */
export async function listModelsCommand(settings: Settings): Promise<Outcome<'Models'>> {
  const { models, stored } = await withGateway(settings, async (gateway, logger) => {
    const applied = await applyStoredModels(settings, { gateway, logger });
    const changes = new Map(applied.all.map((one) => [one.model, changesOf(one)]));
    const listed = listModels(gateway, settings.messagesEnabled).map((model) => {
      const changed = changes.get(gateway.resolveModel(model.id)) ?? [];
      return { ...model, ...(changed.length > 0 && { changed }) };
    });
    return { models: listed, stored: applied };
  });
  const head = ['MODEL', 'PROVIDER', 'UPSTREAM', 'CONTEXT', 'ROUTES'];
  const isChanged = models.some(({ changed }) => changed !== undefined);
  const rows = models.map((model) => [...rowOf(model), ...(isChanged ? [model.changed?.join(' ') ?? '-'] : [])]);
  return {
    json: models,
    text: renderTable([...head, ...(isChanged ? ['CHANGED'] : [])], rows),
    ...(stored.problem !== undefined && { remarks: [unreadModels(stored.problem)] }),
  };
}

/** @param problem Why the database cannot be read. */
function unreadModels(problem: string): string {
  return `Changes of models that are stored could not be read, so these are the models of the plugins file: ${problem} With --server the list is that of a running gateway.`;
}

function rowOf({ id, provider, mock, upstreams, context_length: length, routes }: ListedModel): string[] {
  const where = upstreams.map(({ url, model }) => (model === id ? url : `${url} as ${model}`));
  return [
    id,
    mock ? `${provider} (mock)` : provider,
    where.join(', ') || '-',
    length === null ? '-' : String(length),
    routes.join(' '),
  ];
}

/** Asks the upstreams of a model, and sends it one short request. Exit code 1 if it cannot be used. */
export async function testModelCommand(
  settings: Settings,
  id: string,
  { request = true }: OptionsOf<typeof testModelDeclaration>,
): Promise<Outcome<'ModelTests'>> {
  const entries = await readPluginConfig(pluginsFileOf(settings).file, process.env);
  // Only the providers of this model; a plugin whose models are not known before it is loaded may be one of them.
  const plugins = entries.filter((entry) => servesOf(entry).includes(id) || servesOf(entry).length === 0);
  const results = await withGateway(
    settings,
    async (gateway, logger) => {
      await applyStoredModels(settings, { gateway, logger });
      return testModel(gateway, id, { request });
    },
    { plugins, quiet: true },
  );
  const exitCode = results.every(({ ok }) => ok) ? 0 : 1;
  return { json: results, text: results.map(render).join('\n'), exitCode };
}

function render({ ok, detail, advice }: ModelTest): string {
  const line = `${(ok ? 'ok' : 'fail').padEnd(4)}  ${sanitizeForTerminal(detail)}`;
  return advice === undefined ? line : `${line}\n      ${sanitizeForTerminal(advice)}`;
}
