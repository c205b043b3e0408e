/** One script of a page. */
export interface PageScript {
  /** From the `>` of the opening tag on. */
  text: string;
  /** What the value follows. */
  marker: string | RegExp;
}

const SCRIPT_ID = /\sid=["']([\w-]{1,60})["']/;
const ASSIGNED = /^>\s*(?:window|self|globalThis)(?:\.|\[["'])(\w{1,60})/;
/** Characters of a tag, or of a script's beginning, that are looked at. */
const GLANCE = 500;

/**
 * The scripts of the given names, by id or by the global that they set. One pass over the page, from script to script: a
 * search for every name would cost as much as reading the data.
 */
export function locateScripts(html: string, names: ReadonlySet<string>): Map<string, PageScript> {
  const scripts = new Map<string, PageScript>();
  for (let open = html.indexOf('<script'); open >= 0; ) {
    const tagEnd = html.indexOf('>', open);
    if (tagEnd < 0) break;
    const close = html.indexOf('</script', tagEnd);
    const end = close < 0 ? html.length : close;
    const id = SCRIPT_ID.exec(html.slice(open, Math.min(tagEnd, open + GLANCE)))?.[1];
    const global = ASSIGNED.exec(html.slice(tagEnd, Math.min(end, tagEnd + GLANCE)))?.[1];
    const name = [global, id].find((one) => one !== undefined && names.has(one));
    // Before the script that bears the name, another may set a global of the same name to nothing.
    if (name && (name === id || !scripts.has(name))) {
      scripts.set(name, { text: html.slice(tagEnd, end), marker: name === global ? name : '>' });
    }
    open = html.indexOf('<script', end);
  }
  return scripts.size > 0 ? scripts : locateByName(html, names);
}

/** For pages whose tags are written in another way: what matters is a name in quotes, and the end of the tag after it. */
function locateByName(html: string, names: ReadonlySet<string>): Map<string, PageScript> {
  const scripts = new Map<string, PageScript>();
  for (const name of names) {
    const place = html.indexOf(name);
    if (place >= 0) scripts.set(name, { text: html.slice(place), marker: new RegExp(`${name}["'][^<{]{0,500}>`) });
  }
  return scripts;
}
