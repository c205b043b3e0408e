/*
 * Declares an OpenID Connect provider for development: it accepts every email address without a password. Its library
 * of some hundred modules is loaded at the first sign-in.
 */

import { definePlugin } from 'mediagate/plugin';

/** A real OpenID Connect provider that believes whatever it is told. */
export default definePlugin({
  name: 'dev_identity',
  apiVersion: 1,
  summary: 'Development identity provider: anyone can sign in as anyone, on this machine only.',
  provides: ['identity'],
  standIn: true,
  setup: ({ logger }) => ({
    identityProviders: [
      {
        async open(call) {
          // It loads a few hundred modules, which only a sign-in is worth.
          const { openProvider } = await import('./provider.js');
          return openProvider(call, logger);
        },
      },
    ],
  }),
});
