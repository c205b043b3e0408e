/** Signed links of MP3 files: validity, forgery, and the change of a secret. */

import { expect } from 'chai';
import { AudioLinks } from '../../../core/extraction/media/mp3-files.js';
import { GatewayError } from '../../../core/runtime/errors.js';

const baseUrl = 'http://gateway.example';
const secret = (fill: number) => new Uint8Array(32).fill(fill);
const NOW = Date.UTC(2026, 0, 1, 12, 3);
const ITEM = 'https://invented.example/item/7';

const nameOf = (url: string) => /\/([\w-]+)\.mp3$/.exec(url)?.[1] ?? '';
const codeOf = (open: () => unknown) => {
  try {
    open();
    return 'opened';
  } catch (error) {
    return error instanceof GatewayError ? error.code : String(error);
  }
};

describe('audio links', () => {
  const links = new AudioLinks({ baseUrl, secrets: [secret(1)] });

  it('open the item that they were signed for until they expire', () => {
    const { url, expiresAt } = links.sign({ url: ITEM }, NOW);
    expect(Date.parse(expiresAt) - NOW).to.be.within(86_400_000, 86_400_000 + 600_000);
    expect(links.open(nameOf(url), Date.parse(expiresAt) - 1)).to.deep.equal({
      target: { url: ITEM },
      expiresAt: Date.parse(expiresAt),
    });
    expect(codeOf(() => links.open(nameOf(url), Date.parse(expiresAt)))).to.equal('link_expired');
  });

  it('starts with the address that the server has when it is made', () => {
    const options = { baseUrl: '', secrets: [secret(1)] };
    const early = new AudioLinks(options);
    options.baseUrl = 'https://late.example';
    expect(early.sign({ url: 'https://invented.example/item/7' }, 0).url).to.match(/^https:\/\/late\.example\/v1\//);
  });

  it('cannot be altered anywhere, nor forged with another secret', () => {
    const name = nameOf(links.sign({ url: ITEM }, NOW).url);
    for (let index = 0; index < name.length; index += 1) {
      const altered = name.slice(0, index) + (name[index] === 'A' ? 'B' : 'A') + name.slice(index + 1);
      expect(
        codeOf(() => links.open(altered, NOW)),
        `character ${index}`,
      ).to.equal('file_not_found');
    }
    const foreign = new AudioLinks({ baseUrl, secrets: [secret(2)] });
    expect(codeOf(() => links.open(nameOf(foreign.sign({ url: ITEM }, NOW).url), NOW))).to.equal('file_not_found');
    for (const odd of ['', '..', 'a'.repeat(600), `${name}=`, `${name}/x`, name.slice(0, 30)]) {
      expect(
        codeOf(() => links.open(odd, NOW)),
        odd,
      ).to.equal('file_not_found');
    }
  });

  it('stay valid while a secret is replaced', () => {
    const name = nameOf(links.sign({ url: ITEM }, NOW).url);
    const rotated = new AudioLinks({ baseUrl, secrets: [secret(2), secret(1)] });
    expect(rotated.open(name, NOW).target).to.deep.equal({ url: ITEM });
  });
});
