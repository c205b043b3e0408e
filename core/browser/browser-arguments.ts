import { createHash, X509Certificate } from 'node:crypto';

export interface BrowserArguments {
  /** Folder that the browser may write. */
  profile: string;
  /** Port on 127.0.0.1 of the one exit. */
  proxyPort: number;
  sandbox: boolean;
  /**
   * PEM certificates of authorities that are believed besides the browser's own. Chromium takes every chain that has the
   * key in it, signed by it or not: who stands between here and the origin and knows the certificate is believed as well.
   */
  authorities: readonly string[];
}

/** A name that only this browser resolves; see the resolver's rules below. */
const PROXY_HOST = 'exit.mediagate.invalid';
const HEAP_MIB = 512;

/** The exit as every context must name it. `<-loopback>` takes back the browser's own exception for local addresses. */
export function exitOf(proxyPort: number): { server: string; bypass: string } {
  return { server: `http://${PROXY_HOST}:${proxyPort}`, bypass: '<-loopback>' };
}

/**
 * Everything that a page could use to get past the proxy is off: name resolution, QUIC, WebRTC's own sockets, and what the
 * browser would ask for by itself.
 */
export function browserArguments({ profile, proxyPort, sandbox, authorities }: BrowserArguments): string[] {
  const { server, bypass } = exitOf(proxyPort);
  return [
    '--headless',
    '--remote-debugging-pipe',
    '--no-startup-window',
    `--user-data-dir=${profile}`,
    ...(sandbox ? [] : ['--no-sandbox']),

    `--proxy-server=${server}`,
    `--proxy-bypass-list=${bypass}`,
    // The second wall: nothing but the proxy has an address, literals included. The first rule that fits counts.
    `--host-resolver-rules=MAP ${PROXY_HOST} 127.0.0.1, MAP * ~NOTFOUND`,
    // One is read by the headless shell, the other by Chrome.
    '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--disable-quic',
    ...(authorities.length > 0 ? [`--ignore-certificate-errors-spki-list=${authorities.map(keyHash).join(',')}`] : []),

    '--disable-background-networking',
    '--disable-breakpad',
    '--disable-component-update',
    '--disable-crash-reporter',
    '--disable-default-apps',
    '--disable-domain-reliability',
    '--disable-extensions',
    '--disable-sync',
    '--dns-prefetch-disable',
    '--metrics-recording-only',
    '--no-default-browser-check',
    '--no-first-run',
    '--no-pings',
    `--disable-features=${[
      // Chrome sends the shape of every form to its maker.
      'AutofillServerCommunication',
      // Chrome tries https first wherever http was asked for.
      'HttpsUpgrades',
      // Cast and DIAL look for devices by multicast.
      'MediaRouter',
      'DialMediaRouteProvider',
      'NetworkTimeServiceQuerying',
      'OptimizationHints',
      'PreconnectToSearch',
      'Translate',
    ].join(',')}`,

    // One page a visit; what it opens besides is never shown.
    '--block-new-web-contents',
    '--disable-dev-shm-usage',
    '--disable-gpu',
    '--disable-software-rasterizer',
    '--hide-scrollbars',
    '--mute-audio',
    '--password-store=basic',
    '--use-mock-keychain',
    `--js-flags=--max-old-space-size=${HEAP_MIB}`,
  ];
}

/** How the browser names a public key: base64 of the SHA-256 of its SubjectPublicKeyInfo. */
function keyHash(certificate: string): string {
  const key = new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(key).digest('base64');
}
