/*
 * Pay-as-you-go as programs read it: packages to top up by, and what a million tokens of each model cost. The manifest
 * lists them if the operator publishes prices; otherwise only accounts that may top up read them.
 */

import { field, optional, type Static, Type } from '../../core/contracts/index.js';
import { Text } from '../http/index.js';
import { decimal } from '../ledger/index.js';
import type { TopUpPackage } from '../plans/index.js';
import type { ModelRate } from '../prices/index.js';

/** What may be topped up, and what it pays for. */
export interface PayAsYouGoOffer {
  /** Whether each account may top up. */
  isOpen: boolean;
  topUps: readonly TopUpPackage[];
  rates: readonly ModelRate[];
}

export const TopUpSchema = Type.Object({
  id: field(Text, 'Id of the package.', 'topup_10'),
  name: field(Text, 'Name of the package.', '10 EUR'),
  amount: field(Type.Integer(), 'Price in the minor unit of the currency, e.g. cents.', 1_000),
  currency: field(Text, 'Currency of the price (ISO 4217).', 'EUR'),
  credit: field(Text, 'What it adds to the balance, as a decimal number.', '10'),
  creditCurrency: field(Text, 'Currency of the balance and of the rates (ISO 4217).', 'EUR'),
});

export const ModelRateSchema = Type.Object({
  model: field(Text, 'Id of the model.', 'm-5.5'),
  currency: field(Text, 'Currency (ISO 4217).', 'EUR'),
  input: field(Type.Number(), 'A million tokens of input.', 1.25),
  cachedInput: optional(Type.Number(), 'A million cached tokens of input, if their price differs.'),
  cacheWrite: optional(Type.Number(), 'A million tokens that are written to the cache, if their price differs.'),
  output: field(Type.Number(), 'A million tokens of output.', 10),
});

export const PayAsYouGoSchema = Type.Object({
  eligible: field(
    Type.Boolean(),
    'Whether every account may top up. `GET /api/agent/balance` answers for one account.',
  ),
  packages: field(Type.Array(TopUpSchema), 'Packages. Empty if prices are not public.'),
  ratesPerMillionTokens: field(Type.Array(ModelRateSchema), 'Prices of tokens. Empty if prices are not public.'),
});

/** @param isPublic Whether prices are shown to everyone. */
export function encodePayAsYouGo(
  { isOpen, topUps, rates }: PayAsYouGoOffer,
  isPublic: boolean,
): Static<typeof PayAsYouGoSchema> {
  const shown = isPublic && topUps.length > 0 ? { topUps, rates } : { topUps: [], rates: [] };
  return { eligible: isOpen && topUps.length > 0, ...encodeTopUps(shown) };
}

export function encodeTopUps({ topUps, rates }: Pick<PayAsYouGoOffer, 'topUps' | 'rates'>) {
  return {
    packages: topUps.map(({ name, price, terms }) => {
      const { planId: id, credit, currency: creditCurrency } = terms;
      return { id, name, ...price, credit: decimal(credit), creditCurrency };
    }),
    ratesPerMillionTokens: rates.map((rate) => ({ ...rate })),
  };
}
