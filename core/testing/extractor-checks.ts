import type { Extractor } from '../contracts/index.js';
import { type Check, describeChecks, reportAll } from './check.js';
import { type ExtractorDefinition, isFound } from './extractor-definition.js';
import { createFakeHttp } from './fake-http.js';
import { faultChecks } from './fault-checks.js';
import { linkChecks } from './link-checks.js';
import { sampleChecks } from './sample-checks.js';
import { extractorOf, setUpPlugin } from './setup.js';

/** Checks that every extractor must pass, with the platform's own links and samples. */
export function extractorChecks(definition: ExtractorDefinition): Check[] {
  let extractor: Promise<Extractor> | undefined;
  const whole = () => {
    const { plugin, options, now } = definition;
    extractor ??= setUpPlugin({ plugin, options, now, http: createFakeHttp([{ fail: 'connection' }]) }).then(
      extractorOf,
    );
    return extractor;
  };
  const found = definition.samples.filter(isFound);
  return [
    {
      name: 'names its platform',
      async run() {
        const { platform, displayName, linkForms, audio, resolveAudio } = await whole();
        reportAll([
          ...(platform === definition.plugin.name ? [] : [`the platform is "${platform}"`]),
          ...(displayName.trim() ? [] : ['there is no display name']),
          ...(linkForms.length > 0 ? [] : ['there are no link forms']),
          ...(audio === true && !resolveAudio ? ['audio is offered, and there is no resolveAudio'] : []),
          ...(found.length > 0 ? [] : ['no sample shows an item that is found']),
        ]);
      },
    },
    ...linkChecks(definition, whole),
    ...definition.samples.flatMap((sample) => sampleChecks(definition, sample)),
    ...found.slice(0, 1).flatMap((sample) => faultChecks(definition, sample)),
  ];
}

/** Registers {@link extractorChecks} with the test runner's global `describe` and `it`. */
export function describeExtractor(definition: ExtractorDefinition): void {
  describeChecks(`extractor ${definition.plugin.name}`, extractorChecks(definition));
}
