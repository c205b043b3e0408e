// The gateway inside another program, without its HTTP server: node image.mjs makes tug.png in the current folder.
// Jobs and files are in ./embedded-data, so an accepted job survives the end of this process.
import { writeFile } from 'node:fs/promises';
import { createGateway, createLogger, systemClock } from 'mediagate';
import sketch from 'mediagate/plugins/sketch_image';
import { openState } from 'mediagate/server';

const owner = 'me';
const logger = createLogger({ level: 'warn' });
const state = await openState({ dataDir: 'embedded-data', clock: systemClock, logger });
const gateway = await createGateway({
  plugins: [{ use: sketch }],
  services: { cache: state.cache, storage: state.files, logger },
  jobs: { store: state.jobs },
});
try {
  const { job } = await gateway.images.submit({
    owner,
    model: 'gen-img-2',
    prompt: 'A tug in the harbour of Ostend at dawn',
    size: { width: 1536, height: 1024 },
    references: [],
    options: {},
    delivery: 'url',
  });
  let current = job;
  while (current.finishedAt === null) current = await gateway.images.wait(job.id, owner, { timeoutMs: 30_000 });
  if (!current.image) throw new Error(`The job failed: ${current.error?.message}`);
  const { body } = await gateway.images.content(current.image);
  await writeFile('tug.png', body);
  console.log(`${job.id}: tug.png`);
} finally {
  await gateway.close();
  await state.close();
  await logger.close();
}
