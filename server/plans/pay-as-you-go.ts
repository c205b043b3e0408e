/*
 * Pay-as-you-go of the plans file: the packages by which eligible accounts top up their prepaid balance, and what keys
 * may use with it. There are none by default. A package costs an amount in minor units of a currency and gives a credit,
 * which is in the currency of PRICES_FILE. Its terms are stored with the order, so later changes of the file do not
 * affect what was bought.
 */

import { field, optional, type Static, Type } from '../../core/contracts/index.js';
import { MAX_CREDIT, MICROS, parseBudget } from '../budgets/index.js';
import { minorDigits } from '../format/index.js';
import { GRANTS, type Grant } from '../keys/index.js';
import { Name, Rpm } from './plan-fields.js';

const strict = { additionalProperties: false } as const;

const Price = Type.Object(
  {
    amount: field(
      Type.Integer({ minimum: 1, maximum: 1e12 }),
      'Price in the minor unit of the currency, e.g. cents.',
      1_000,
    ),
    currency: field(Type.String({ pattern: '^[A-Z]{3}$' }), 'Currency (ISO 4217).', 'EUR'),
  },
  strict,
);
const Money = Type.String({ maxLength: 40 });

const Package = Type.Object(
  {
    id: field(
      Type.String({ pattern: '^[a-z0-9][a-z0-9_.-]{0,63}$' }),
      'Id of the package; no plan has it.',
      'topup_10',
    ),
    name: optional(Name, 'Name of the package. Default: its id.', '10 EUR'),
    price: field(Price, 'What it costs.'),
    credit: optional(
      Money,
      'What it adds to the balance, in the currency of the prices. Default: its price.',
      '10 EUR',
    ),
  },
  strict,
);

/** The field `payAsYouGo` of the plans file. */
export const PAY_AS_YOU_GO_SCHEMA = Type.Object(
  {
    packages: optional(Type.Array(Package, { maxItems: 50 }), 'What accounts may top up.'),
    grants: optional(
      Type.Array(Type.Unsafe<Grant>(Type.Union(GRANTS.map((grant) => Type.Literal(grant))))),
      'What may be paid from the balance. Default: `text` and `audio`. Everything must have a price.',
      ['text', 'audio'],
    ),
    rpm: optional(Rpm, 'Requests in 60 seconds for each family of routes; that of a plan counts if it is higher.', 30),
    models: optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1 }),
      'Ids of the models that may be paid from the balance. Default: all.',
    ),
    lowBalance: optional(Money, 'A webhook reports a balance when less is left. Default: none does.', '2 EUR'),
  },
  strict,
);

/** What a package gives, as it was when it was ordered. */
export interface TopUpTerms {
  /** Id of the package. */
  planId: string;
  /** Added to the balance, in millionths of the currency. */
  credit: number;
  /** Of the prices (ISO 4217). */
  currency: string;
  /** Threshold of the alert of a low balance, in millionths; null is none. */
  lowBelow: number | null;
  /** What may be paid from the balance. */
  grants: readonly Grant[];
  rpm: number;
  /** Null is all. */
  models: readonly string[] | null;
}

export interface TopUpPackage {
  name: string;
  /** In minor units of `currency`. */
  price: { amount: number; currency: string };
  terms: TopUpTerms;
}

export type PayAsYouGo = Static<typeof PAY_AS_YOU_GO_SCHEMA>;

/** Whether terms of an order are those of a top-up and not of a plan. */
export function isTopUp(terms: { planId: string; credit?: number }): terms is TopUpTerms {
  return terms.credit !== undefined;
}

/**
 * The packages of the plans file.
 * @param where Begins the messages: the file.
 * @throws `Failure` naming the field.
 */
export function readPackages(
  { packages = [], grants = ['text', 'audio'], rpm = 30, models, lowBalance }: PayAsYouGo,
  { where, planIds, Failure }: { where: string; planIds: readonly string[]; Failure: new (message: string) => Error },
): TopUpPackage[] {
  function refuse(name: string, why: string): never {
    throw new Failure(`${where}: payAsYouGo.${name} ${why}`);
  }
  function moneyOf(text: string, name: string): { amount: number; currency: string } {
    const { unit, amount = 0, currency, resets } = parseBudget(text) ?? {};
    const isMoney = unit === 'money' && resets === 'never' && amount > 0 && amount <= MAX_CREDIT;
    if (isMoney && currency) return { amount, currency };
    return refuse(name, 'must be an amount of money above 0, such as "10 EUR".');
  }
  const low = lowBalance === undefined ? undefined : moneyOf(lowBalance, 'lowBalance');
  const ids = packages.map(({ id }) => id);
  return packages.map(({ id, name = id, price, credit }, index): TopUpPackage => {
    const field = `packages.${index}`;
    if (planIds.includes(id)) refuse(`${field}.id`, `${id} is the id of a plan; choose another one.`);
    if (ids.indexOf(id) < index) refuse(`${field}.id`, `${id} is given twice.`);
    const factor = MICROS / 10 ** minorDigits(price.currency);
    const given = credit === undefined ? undefined : moneyOf(credit, `${field}.credit`);
    const { amount, currency } = given ?? { amount: price.amount * factor, currency: price.currency };
    if (amount > MAX_CREDIT) refuse(`${field}.price.amount`, 'is more than a balance can be topped up by.');
    if (low && low.currency !== currency) refuse('lowBalance', `must be in ${currency}, as the credit of ${id} is.`);
    const allowed = { grants, rpm, models: models ?? null };
    return { name, price, terms: { planId: id, credit: amount, currency, lowBelow: low?.amount ?? null, ...allowed } };
  });
}
