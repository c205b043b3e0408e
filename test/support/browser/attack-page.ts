/** A page that tries to reach private addresses in every way. */

/** Where the attacks of a page are to land. */
export interface AttackTargets {
  /** Origins that answer http, e.g. `http://127.0.0.1:9000`. */
  origins: readonly string[];
  /** A UDP port of 127.0.0.1. */
  udpPort: number;
}

/** Attacks that reach an http server by a path of their own. */
export const ATTACKS = [
  'image',
  'css',
  'script',
  'video',
  'object',
  'font',
  'iframe',
  'redirected-iframe',
  'meta-iframe',
  'form',
  'location',
  'fetch',
  'redirected-fetch',
  'xhr',
  'beacon',
  'eventsource',
  'websocket',
  'worker',
  'worker-import',
  'shared-worker',
  'prefetch',
  'preload',
  'modulepreload',
  'popup',
  'ping',
  'download',
  'speculation',
] as const;

/**
 * A page that tries every way out of the browser there is, against each target. Its title says `done` once it has tried
 * them all. The server that shows it must answer `/redirect?to=URL` with a 302 and `/meta?to=URL` with a page that moves on.
 */
export function attackPage({ origins, udpPort }: AttackTargets): string {
  return `<!doctype html><title>begun</title><body><script>
const udpPort = ${udpPort};
const attempt = (work) => { try { const made = work(); if (made && made.catch) made.catch(() => {}); } catch {} };
const add = (name, attributes) => {
  const element = Object.assign(document.createElement(name), attributes);
  document.body.append(element);
  return element;
};
const link = (rel, href, as = '') => attempt(() => document.head.append(Object.assign(document.createElement('link'), { rel, href, as })));
const blob = (code) => URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));

function attack(origin) {
  const to = (name) => origin + '/' + name;
  const elsewhere = (way, name) => '/' + way + '?to=' + encodeURIComponent(to(name));
  const socket = origin.replace('http', 'ws');

  attempt(() => add('img', { src: to('image') }));
  link('stylesheet', to('css'));
  attempt(() => add('script', { src: to('script') }));
  attempt(() => add('video', { src: to('video'), preload: 'auto' }).load());
  attempt(() => add('object', { data: to('object') }));
  attempt(() => new FontFace('x', 'url(' + to('font') + ')').load());
  attempt(() => add('iframe', { src: to('iframe') }));
  attempt(() => add('iframe', { src: elsewhere('redirect', 'redirected-iframe') }));
  attempt(() => add('iframe', { src: elsewhere('meta', 'meta-iframe') }));
  attempt(() => add('iframe', { srcdoc: '<form method=post action="' + to('form') + '"></form><script>document.forms[0].submit()<' + '/script>' }));
  attempt(() => add('iframe', { srcdoc: '<script>location = "' + to('location') + '"<' + '/script>' }));
  attempt(() => fetch(to('fetch'), { mode: 'no-cors', credentials: 'include' }));
  attempt(() => fetch(elsewhere('redirect', 'redirected-fetch'), { mode: 'no-cors' }));
  attempt(() => { const request = new XMLHttpRequest(); request.open('POST', to('xhr')); request.send('x'); });
  attempt(() => navigator.sendBeacon(to('beacon'), 'x'));
  attempt(() => new EventSource(to('eventsource')));
  attempt(() => new WebSocket(socket + '/websocket'));
  attempt(() => new Worker(blob('fetch("' + to('worker') + '", { mode: "no-cors" })')));
  attempt(() => new Worker(blob('importScripts("' + to('worker-import') + '")')));
  attempt(() => new SharedWorker(blob('fetch("' + to('shared-worker') + '", { mode: "no-cors" })')));
  attempt(() => navigator.serviceWorker.register('/worker.js'));
  link('prefetch', to('prefetch'));
  link('preload', to('preload'), 'image');
  link('modulepreload', to('modulepreload'));
  link('preconnect', origin);
  link('dns-prefetch', origin);
  attempt(() => window.open(to('popup')));
  attempt(() => add('a', { href: '#here', ping: to('ping') }).click());
  attempt(() => add('iframe', { srcdoc: '<a href="' + to('download') + '" download></a><script>document.links[0].click()<' + '/script>' }));
  attempt(() => add('script', { type: 'speculationrules', textContent: JSON.stringify({
    prefetch: [{ source: 'list', urls: [to('speculation')], eagerness: 'immediate' }],
    prerender: [{ source: 'list', urls: [to('prerender')], eagerness: 'immediate' }],
  }) }));
  attempt(() => new WebSocketStream(socket + '/websocket-stream').opened);
}

function attackByUdp(port, tcpPort) {
  attempt(() => new WebTransport('https://127.0.0.1:' + port + '/').ready);
  attempt(async () => {
    const connection = new RTCPeerConnection({ iceServers: [
      { urls: 'stun:127.0.0.1:' + port },
      { urls: 'turn:127.0.0.1:' + port, username: 'x', credential: 'x' },
      { urls: 'turn:127.0.0.1:' + tcpPort + '?transport=tcp', username: 'x', credential: 'x' },
    ] });
    connection.createDataChannel('x');
    const offer = await connection.createOffer();
    await connection.setLocalDescription(offer);
    const answerer = new RTCPeerConnection();
    await answerer.setRemoteDescription(offer);
    const answer = await answerer.createAnswer();
    await connection.setRemoteDescription(answer);
    for (const transport of ['udp', 'tcp']) {
      const candidate = 'candidate:1 1 ' + transport + ' 2122260223 127.0.0.1 ' + (transport === 'udp' ? port : tcpPort)
        + ' typ host' + (transport === 'tcp' ? ' tcptype passive' : '');
      await connection.addIceCandidate({ candidate, sdpMid: '0', sdpMLineIndex: 0 });
    }
  });
}

function attackFiles() {
  for (const url of ['file:///etc/passwd', 'view-source:file:///etc/passwd', 'chrome://version', 'filesystem:file:///etc/passwd']) {
    attempt(() => add('iframe', { src: url }));
    attempt(() => fetch(url).then((answer) => answer.text()).then((text) => { document.body.append(text); }));
    attempt(() => window.open(url));
    attempt(() => { location.href = url; });
  }
  attempt(() => { location.href = 'data:text/html,<title>data</title>'; });
}

const origins = ${JSON.stringify(origins)};
for (const origin of origins) attack(origin);
attackByUdp(udpPort, new URL(origins[0]).port);
attackFiles();
setTimeout(() => { document.title = 'done'; }, 2500);
</script>`;
}
