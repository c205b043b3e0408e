/** Rate limits that several processes share, one of them killed. */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { engines, type Place } from '../../support/databases/engines.js';
import type { Taking } from './rate-limit-consumer.js';

const script = fileURLToPath(new URL('rate-limit-consumer.js', import.meta.url));

function startConsumer(taking: Taking): ChildProcessByStdio<null, Readable, null> {
  return spawn(process.execPath, [script, JSON.stringify(taking)], { stdio: ['ignore', 'pipe', 'inherit'] });
}

for (const engine of engines) {
  describe(`several processes on ${engine.name}`, () => {
    let place: Place;

    beforeEach(async function () {
      place = await engine.place(this);
    });

    afterEach(() => place?.remove());

    it('migrate an empty state at the same time and share its windows', async () => {
      const { dataDir, databaseUrl } = place;
      const consumers = Array.from({ length: 3 }, () => startConsumer({ dataDir, databaseUrl, limit: 15, count: 60 }));
      const outputs = await Promise.all(
        consumers.map(async (consumer) => {
          const [output, [code]] = await Promise.all([text(consumer.stdout), once(consumer, 'exit')]);
          expect(code).to.equal(0);
          return output;
        }),
      );
      expect(outputs.join('').split('\n').filter(Boolean)).to.have.length(15);
    });

    it('lose no slot that was acknowledged when one of them is killed', async () => {
      const { dataDir, databaseUrl } = place;
      const consumer = startConsumer({ dataDir, databaseUrl, limit: 100_000, count: 100_000 });
      const exited = once(consumer, 'exit');
      let acknowledged = 0;
      for await (const _line of createInterface({ input: consumer.stdout })) {
        acknowledged += 1;
        if (acknowledged === 50) consumer.kill('SIGKILL');
      }
      await exited;
      expect(acknowledged).to.be.at.least(50);
      const state = await place.open();
      const { remaining } = await state.rateLimits.peek({ keyId: 'shared', family: 'image', count: 1, limit: 100_000 });
      // One more may have been committed than could be told.
      expect(100_000 - remaining).to.be.within(acknowledged, acknowledged + 1);
    });
  });
}
