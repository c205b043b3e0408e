/** Reads the metrics of a gateway from its page. */

import { expect } from 'chai';
import type { ListeningApp } from '../http/listening-app.js';

/** Values of metrics with their labels, by names such as `mediagate_x{a="1"}`. */
export async function readMetrics(app: ListeningApp): Promise<ReadonlyMap<string, number>> {
  const { status, headers, text } = await app.request('/metrics');
  expect([status, headers.get('content-type')]).to.deep.equal([200, 'text/plain; version=0.0.4; charset=utf-8']);
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}
