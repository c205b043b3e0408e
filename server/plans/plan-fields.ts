/*
 * The fields of a plan by the service document, with what the plans file accepts for each.
 */

import { field, optional, type Static, Type } from '../../core/contracts/index.js';

const Limit = Type.Union([Type.Integer({ minimum: 0, maximum: 1e15 }), Type.Null()]);
export const Rpm = Type.Integer({ minimum: 0, maximum: 1_000_000 });
const Text = Type.Union([Type.String({ maxLength: 1_000 }), Type.Null()]);
export const Flag = Type.Boolean();
export const Name = Type.String({ minLength: 1, maxLength: 100 });

/** Fields of a plan that the service document names. */
export const PLAN_FIELDS = {
  id: field(Type.String({ pattern: '^[a-z0-9][a-z0-9_.-]{0,63}$' }), 'Id of the plan.', 'token_30m'),
  name: optional(Name, 'Name of the plan. Default: its id.', '30M tokens'),
  durationDays: optional(
    Type.Integer({ minimum: 0, maximum: 36_500 }),
    'Days for which the plan is valid; 0 is without an end.',
    30,
  ),
  requestLimit: optional(Limit, 'Model requests of the plan. Null is unlimited.', 5_000),
  tokenLimit: optional(Limit, 'Input and output tokens of the plan. Null is unlimited.', 30_000_000),
  dailyTokenLimit: optional(Limit, 'Input and output tokens of a day (UTC). Null is unlimited.', 1_000_000),
  imageLimit: optional(Limit, 'Not enforced: only null is accepted. Use `imageDailyLimit`.'),
  imageMonthlyLimit: optional(Limit, 'Not enforced: only null is accepted. Use `imageDailyLimit`.'),
  opusRequestLimit: optional(Limit, 'Not enforced: only null is accepted. Use `requestLimit`.'),
  imageLimitText: optional(Text, 'Text about the images of the plan, for people.'),
  imageDailyLimit: optional(Limit, "Images of a day (UTC). Null: the gateway's setting applies.", 100),
  maxImagesPerRequest: optional(Limit, 'Images of a request, for people; every request makes one.', 1),
  allModels: optional(Flag, 'Whether all models may be used; otherwise those of the free tier.', true),
  includesAudio: optional(Flag, 'Whether the plan has the grant `audio`.', true),
  includesImage: optional(Flag, 'Whether the plan has the grant `images`.', false),
  imageOnly: optional(Flag, 'Whether the plan has only the grant `images`, and no model requests.', false),
  note: optional(Text, 'Text about the plan, for people.'),
  includedRpm: optional(Rpm, 'Requests in 60 seconds for each family of routes, unless the key has its own.', 30),
  maxRpm: optional(Rpm, 'Most requests in 60 seconds that a key of the plan may have; at least `includedRpm`.', 60),
};

const PlanSchema = Type.Object(PLAN_FIELDS);

/** A plan with all of its fields. Null: not limited, or not stated. */
export interface Plan extends Required<Static<typeof PlanSchema>> {}
