/*
 * The commands that change models of running gateways on the state of this machine: off and on, weights, prices, models
 * that are added and removed. They use the functions of the admin API, with the models that the plugins file serves with
 * this environment and the changes that are stored. Running gateways follow within 2 seconds.
 */

import type { Gateway } from 'mediagate';
import { addModel, changeModel, removeModel } from '../../admin/index.js';
import { AppliedModels, changesOf, createSealer, entryIdOf } from '../../model-changes/index.js';
import { readPricesOf } from '../../open-gateway.js';
import { loadIdentitySecrets, type Settings } from '../../settings/index.js';
import { byOperator, using, withGateway, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import type { Outcome } from '../output.js';
import type { removeModel as removeModelDeclaration, updateModel } from './model-commands.js';
import { readLiveServer, readModelChange } from './model-options.js';
import type { AddModelOptions } from './models.js';

type Changing = Parameters<typeof changeModel>[0] & { changedModels: AppliedModels; gateway: Gateway };

/** Opens what the functions of the admin API need, with the stored changes made. */
function withChanges<Result>(settings: Settings, work: (services: Changing) => Promise<Result>): Promise<Result> {
  return withState(settings, (state) =>
    withGateway(
      settings,
      async (gateway, logger) => {
        const livePrices = await readPricesOf(settings, process.env);
        const sealer = createSealer(await loadIdentitySecrets(settings));
        const followed = { changes: state.changedModels, gateway, prices: livePrices, sealer, logger };
        return using(await AppliedModels.open(followed), (changedModels) =>
          work({ state, gateway, livePrices, changedModels }),
        );
      },
      { quiet: true },
    ),
  );
}

export async function updateModelCommand(
  settings: Settings,
  name: string,
  { note, ...options }: OptionsOf<typeof updateModel>,
): Promise<Outcome<'ChangedModel'>> {
  const by = byOperator(note);
  return withChanges(settings, async (services) => {
    const { gateway, livePrices } = services;
    const before = livePrices?.ofModel(gateway.resolveModel(name));
    const id = await changeModel(services, name, readModelChange(options, before), by);
    return changedOutcome(services, id, `${id} is changed. Running gateways follow within 2 seconds.`);
  });
}

function changedOutcome({ changedModels }: Changing, id: string, text: string): Outcome<'ChangedModel'> {
  const found = changedModels.all.find(({ model }) => model === id);
  return { json: { id, changed: found ? changesOf(found) : [] }, text };
}

export async function removeModelCommand(
  settings: Settings,
  id: string,
  { note }: OptionsOf<typeof removeModelDeclaration>,
): Promise<Outcome<'ChangedModel'>> {
  const by = byOperator(note);
  return withChanges(settings, async (services) => {
    await removeModel(services, id, by);
    return changedOutcome(services, id, `${id} is removed. Running gateways follow within 2 seconds.`);
  });
}

/** Adds a model to running gateways. */
export async function addLiveModel(
  settings: Settings,
  id: string,
  options: AddModelOptions,
): Promise<Outcome<'AddedModel'>> {
  const by = byOperator(options.note);
  const server = readLiveServer(options);
  return withChanges(settings, async (services) => {
    await addModel(services, { id, ...server }, by);
    const { model, contextLength } = server;
    const added = { id, ...(model !== undefined && { model }), ...(contextLength !== undefined && { contextLength }) };
    const text = `Added ${id}. Running gateways serve it within 2 seconds.`;
    return { json: { id, provider: entryIdOf(id), model: added }, text };
  });
}
