/*
 * Chooses a model for a caller who names none: the first that is ready, suitable and allowed for the key; a mock only if
 * there is no other.
 */

import type { Gateway } from 'mediagate';
import type { ReadyModel } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { ApiKeyRecord } from '../keys/index.js';
import { isModelAllowed } from '../usage/index.js';
import { mockEntries } from './model-list.js';

/** @throws GatewayError `model_not_supported` if there is none. */
export function chooseModel(
  gateway: Pick<Gateway, 'models' | 'plugins' | 'resolveModel'>,
  key: ApiKeyRecord,
  isSuitable: (model: ReadyModel) => boolean,
): string {
  const mocks = mockEntries(gateway);
  const allowed = gateway
    .models()
    .filter(
      (one) =>
        isSuitable(one) && one.isAbsent !== true && isModelAllowed(key, one.id, (name) => gateway.resolveModel(name)),
    );
  const found = allowed.find(({ entry }) => !mocks.has(entry)) ?? allowed[0];
  if (found) return found.id;
  const message = 'No model for this is ready that the API key may use.';
  throw new GatewayError('model_not_supported', message, { param: 'model' });
}

/** Whether no provider but a mock has the model. */
export function isMockModel(gateway: Pick<Gateway, 'models' | 'plugins' | 'resolveModel'>, model: string): boolean {
  const mocks = mockEntries(gateway);
  const id = gateway.resolveModel(model);
  const found = gateway.models().filter((one) => one.id === id);
  return found.length > 0 && found.every(({ entry }) => mocks.has(entry));
}
