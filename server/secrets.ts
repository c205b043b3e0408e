import { loadSecret } from 'mediagate';
import { createPepper, type Pepper } from './keys.js';
import type { Settings } from './settings.js';

/** Peppers of the settings, newest first; where none is set, the one kept in the data folder. */
export async function loadPeppers(settings: Settings): Promise<[Pepper, ...Pepper[]]> {
  const [newest, ...older] = settings.keyPeppers.map((text) => createPepper(Buffer.from(text)));
  if (newest) return [newest, ...older];
  return [createPepper(await loadSecret(settings.dataDir, 'key-pepper'))];
}

/** Secrets that sign links, likewise. */
export async function loadLinkSecrets(settings: Settings): Promise<readonly Uint8Array[]> {
  if (settings.linkSecrets.length > 0) return settings.linkSecrets.map((text) => Buffer.from(text));
  return [await loadSecret(settings.dataDir, 'link-secret')];
}

/** Everything secret in the settings, for the logger to strike out. */
export function secretsOf(settings: Settings): string[] {
  const urls = [settings.databaseUrl, settings.cacheUrl, settings.filesUrl, settings.egressProxyUrl];
  const passwords = urls.flatMap((url) => {
    const password = url === undefined ? undefined : URL.parse(url)?.password;
    return password ? [password, decodeURIComponent(password)] : [];
  });
  const { keyPeppers, linkSecrets, oidcClientSecret, paymentSecrets } = settings;
  const shared = [...Object.values(paymentSecrets), ...(oidcClientSecret ? [oidcClientSecret] : [])];
  return [...keyPeppers, ...linkSecrets, ...shared, ...new Set(passwords)];
}
