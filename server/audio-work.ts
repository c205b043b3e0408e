import type { AudioOperation, Gateway, Usage, Windows } from 'mediagate';
import { takeSlot } from './limits.js';
import { type createAuth, keyOf } from './middleware/auth.js';
import type { BodyBudget } from './middleware/body-budget.js';
import type { RequestContext } from './middleware/request-state.js';

/** What the routes of audio models share. */
export interface AudioRouteOptions {
  gateway: Gateway;
  windows: Windows;
  auth: ReturnType<typeof createAuth>;
  /** Of JSON. */
  bodies: BodyBudget;
  /** Of forms, whose sounds are on the disk. */
  uploads: BodyBudget;
  /** Bytes of one sound that is sent. */
  audioMaxBytes: number;
}

export interface AudioWork {
  model: string;
  operation: AudioOperation;
}

/** Lets a request in whose fields are good, and says on the answer which stand-in is at work. */
export async function admitAudio(
  context: RequestContext,
  { gateway, windows }: AudioRouteOptions,
  { model, operation }: AudioWork,
  work: () => Promise<Usage>,
): Promise<void> {
  const entry = gateway.audio.entryOf(model, operation);
  await takeSlot(windows, context.res, { key: keyOf(context), family: 'model' });
  const maker = gateway.plugins().find(({ id }) => id === entry);
  if (maker?.standIn) context.res.setHeader('x-mediagate-stand-in', maker.plugin);
  await work();
}

/** Names what the model left out; the names are ours and of the open format. */
export function nameIgnored({ res: response }: RequestContext, ignored: readonly string[] = []): void {
  const names = ignored.filter((name) => /^[\w.[\]-]+$/.test(name));
  if (names.length > 0) response.setHeader('x-ignored-params', names.join(', '));
}
