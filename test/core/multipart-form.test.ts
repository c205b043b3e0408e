import { expect } from 'chai';
import { encodeForm } from 'mediagate';

describe('multipart forms', () => {
  it('are what a browser sends', async () => {
    const bytes = Buffer.from('\r\n--form\x00\xff', 'latin1');
    const file = { name: 'image[]', fileName: 'a "b"\n.png', contentType: 'image/png', bytes };
    const { contentType, body } = encodeForm({ prompt: 'é\r\n"x"', n: '1' }, [file, file]);
    const form = await new Response(Buffer.from(body), { headers: { 'content-type': contentType } }).formData();
    expect(form.get('prompt')).to.equal('é\r\n"x"');
    const files = form.getAll('image[]') as File[];
    expect(files.map(({ name, type }) => [name, type])).to.deep.equal([
      ['a "b"\n.png', 'image/png'],
      ['a "b"\n.png', 'image/png'],
    ]);
    expect(Buffer.from(await (files[0] as File).arrayBuffer()).equals(bytes)).to.equal(true);
  });
});
