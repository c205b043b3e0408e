/** An app with an invented image provider, and its client. */

import type { GatewayOptions, GeneratedImage, ImageCall } from 'mediagate';
import { inventedModel, MODEL } from '../../support/images/invented-image.js';
import { type Answer, type ListeningApp, type ListeningAppOptions, startApp } from '../http/listening-app.js';

export const PROMPT = { model: MODEL, prompt: 'A tug at dawn' };

export interface ImageAppOptions extends Omit<ListeningAppOptions, 'extractor' | 'shop'> {
  /** Default: one that answers at once. */
  generate?(call: ImageCall): Promise<GeneratedImage>;
  images?: GatewayOptions['images'];
}

/** The real app with an invented model. */
export function startImageApp({ generate, images, ...options }: ImageAppOptions = {}): Promise<ListeningApp> {
  return startApp({
    ...options,
    gateway: { plugins: [{ use: inventedModel(generate) }], images, ...options.gateway },
  });
}

/** Speaks to the image routes with one key. */
export function imageClient(app: Pick<ListeningApp, 'request'>, key: string) {
  const headers = { authorization: `Bearer ${key}` };
  const post = (target: string, body: unknown, more: Record<string, string> = {}, signal?: AbortSignal) =>
    app.request(target, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', ...more },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal && { signal }),
    });
  const poll = (id: string, query = '', more: Record<string, string> = {}): Promise<Answer> =>
    app.request(`/v1/images/jobs/${id}${query}`, { headers: { ...headers, ...more } });
  return {
    submit: (body: unknown = PROMPT, more?: Record<string, string>) => post('/v1/images/jobs', body, more),
    generate: (body: unknown = PROMPT, more?: Record<string, string>, signal?: AbortSignal) =>
      post('/v1/images/generations', body, more, signal),
    poll,
    cancel: (id: string) => post(`/v1/images/jobs/${id}/cancel`, ''),
    remove: (id: string) => app.request(`/v1/images/jobs/${id}`, { method: 'DELETE', headers }),
    /** Waits until the job has ended. */
    ended: (id: string) => poll(id, '?wait=15'),
  };
}

export type ImageClient = ReturnType<typeof imageClient>;
