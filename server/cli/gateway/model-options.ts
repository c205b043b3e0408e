/*
 * Reads the options of the commands that change models, for the state of this machine and for `--server` alike.
 */

import type { ModelPrices } from '../../../core/contracts/index.js';
import type { ModelChangeInput } from '../../admin/index.js';
import type { OptionsOf } from '../define-command.js';
import { CommandMistake } from '../mistakes.js';
import type { updateModel } from './model-commands.js';
import type { AddModelOptions } from './models.js';

const OF_FILE = ['provider', 'upstream', 'routes'] as const;

/** The server that the options name, with the key in the variable. @throws CommandMistake */
export function readLiveServer(options: AddModelOptions) {
  const { url, keyVariable, model, contextLength, format = 'openai' } = options;
  const ofFile = OF_FILE.find((name) => options[name] !== undefined);
  if (ofFile !== undefined) throw new CommandMistake(`--${ofFile} is for the plugins file. Leave --live out, or it.`);
  if (url === undefined) throw new CommandMistake('Send --url, the address of the server.');
  const key = keyVariable === undefined ? undefined : process.env[keyVariable];
  if (keyVariable !== undefined && !key) throw new CommandMistake(`The variable ${keyVariable} is not set.`);
  return {
    url,
    format,
    ...(key !== undefined && { key }),
    ...(model !== undefined && { model }),
    ...(contextLength !== undefined && { contextLength }),
  };
}

/**
 * What the options change, as the admin API takes it.
 * @param before Prices of the model: those that no option names stay.
 * @throws CommandMistake
 */
export function readModelChange(
  { on, off, weight, price, asConfigured, accept }: Omit<OptionsOf<typeof updateModel>, 'note'>,
  before: ModelPrices | undefined,
): ModelChangeInput {
  const back = (asConfigured ?? []).flatMap((text) => text.split(','));
  const unknown = back.find((what) => what !== 'weights' && what !== 'prices');
  if (unknown !== undefined) throw new CommandMistake('--as-configured takes weights, prices or both.');
  const weights = weight && Object.fromEntries(weight.map((text) => assigned('--weight', text)));
  const prices = price && pricesOf(before ?? {}, price);
  return {
    ...((on || off) && { enabled: on === true }),
    ...(back.includes('weights') ? { weights: null } : weights && { weights }),
    ...(back.includes('prices') ? { prices: null } : prices && { prices }),
    ...(accept && { accept }),
  };
}

function pricesOf(before: ModelPrices, given: readonly string[]): ModelPrices {
  const prices: Record<string, unknown> = { ...before };
  for (const text of given) {
    const name = text.slice(0, Math.max(0, text.indexOf('=')));
    if (name !== '' && text === `${name}=`) delete prices[name];
    else {
      const [field, amount] = assigned('--price', text);
      prices[field] = amount;
    }
  }
  return prices as ModelPrices;
}

/** `first=3` as a name and a number. A name may have `=` in it, such as that of an address. */
function assigned(option: string, text: string): [name: string, value: number] {
  const end = text.lastIndexOf('=');
  const amount = text.slice(end + 1);
  if (end > 0 && /^\d{1,9}(\.\d{1,9})?$/.test(amount)) return [text.slice(0, end), Number(amount)];
  throw new CommandMistake(`${option} must be a name, = and a number, such as first=3.`);
}
