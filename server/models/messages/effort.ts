import { type Members, membersAt, optional, refuse } from './sent.js';

/** Weakest first. */
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
type Effort = (typeof EFFORTS)[number];

/** How much thought is asked for, and by which member. */
export interface Thinking {
  effort?: Effort;
  /** The member that asks for it, where somebody is to be told that the model has none. */
  param?: string;
  /** Whether the answer shows what the model thinks, as far as it says. */
  shown: boolean;
}

/** Tokens of a budget up to which an effort is meant. */
const BUDGETS: readonly (readonly [tokens: number, effort: Effort])[] = [
  [4_000, 'low'],
  [16_000, 'medium'],
  [32_000, 'high'],
];
const TYPES = ['enabled', 'adaptive', 'between_tools', 'disabled'];

/** `output_config.effort` goes before `thinking`. @throws GatewayError `invalid_value`. */
export function readThinking({ thinking, output_config: config }: Members): Thinking {
  const asked = optional(thinking, 'thinking', membersAt);
  const type = asked?.type;
  if (asked && !TYPES.some((one) => one === type)) refuse('thinking.type', TYPES.join(', '));
  const shown = asked !== undefined && type !== 'disabled' && asked.display !== 'omitted';
  const named = optional(config, 'output_config', membersAt)?.effort;
  if (named !== undefined && named !== null) return { effort: effortAt(named), param: 'output_config.effort', shown };
  if (type === 'disabled') return { effort: 'none', shown };
  return type === 'enabled' ? { effort: effortOfBudget(asked?.budget_tokens), param: 'thinking', shown } : { shown };
}

/**
 * The effort that comes closest to one, of those that a model has: a weaker one rather than a stronger.
 * @returns Undefined where it has none.
 */
export function nearestEffort(effort: Effort, efforts: readonly string[]): string | undefined {
  const at = EFFORTS.indexOf(effort);
  const nearest = [...EFFORTS.slice(0, at + 1).reverse(), ...EFFORTS.slice(at + 1)];
  return nearest.find((one) => efforts.includes(one));
}

/** What a model without efforts leaves out. */
export function ignoredEffort({ effort, param }: Thinking, efforts: readonly string[]): readonly string[] {
  return effort && param !== undefined && nearestEffort(effort, efforts) === undefined ? [param] : [];
}

function effortAt(value: unknown): Effort {
  return EFFORTS.find((one) => one === value) ?? refuse('output_config.effort', 'low, medium, high, xhigh or max');
}

function effortOfBudget(tokens: unknown): Effort {
  if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 1) {
    refuse('thinking.budget_tokens', 'a whole number, 1 or more');
  }
  return BUDGETS.find(([most]) => tokens <= most)?.[1] ?? 'xhigh';
}
