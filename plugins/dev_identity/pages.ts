/*
 * The two HTML pages of the development sign-in: the form and the error. They look like the pages of the site, and a
 * warning says that no password is needed, so that no person enters one.
 */

const STYLE = `
  :root { color-scheme: light dark; --paper: #faf9f6; --surface: #fff; --ink: #1a1b18; --muted: #5d5f57; --line: #85877d;
    --accent: #0b6b4a; --on-accent: #fff; --warn: #7a4b00; --warn-soft: #fbf0d9; --bad: #a9241c }
  @media (prefers-color-scheme: dark) { :root { --paper: #131412; --surface: #1b1c19; --ink: #edece6; --muted: #a5a69c;
    --line: #777970; --accent: #63d3a3; --on-accent: #06231a; --warn: #efbd63; --warn-soft: #2c2412; --bad: #ff9a90 } }
  * { box-sizing: border-box }
  body { margin: 0; font: 16px/1.6 system-ui, sans-serif; color: var(--ink); background: var(--paper) }
  main { max-width: 28rem; margin: 0 auto; padding: clamp(2rem, 10vh, 6rem) 1rem 2rem }
  h1 { margin: 0 0 1rem; font-size: 1.75rem; line-height: 1.2; letter-spacing: -.02em }
  .warning { margin: 0 0 1.5rem; padding: .75rem 1rem; border-radius: 8px; background: var(--warn-soft); color: var(--warn); font-size: .9375rem }
  [role="alert"] { margin: 0; color: var(--bad) }
  label { display: block; margin-top: 1rem; font-size: .875rem; font-weight: 500 }
  input { display: block; width: 100%; min-height: 2.75rem; margin-top: .375rem; padding: .5rem .75rem; border: 1px solid var(--line);
    border-radius: 8px; background: var(--surface); color: var(--ink); font: inherit }
  button { min-height: 2.75rem; margin: 1.25rem .5rem 0 0; padding: .5rem 1.125rem; border: 1px solid var(--accent); border-radius: 8px;
    background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 500; cursor: pointer }
  button[value="refuse"] { border-color: var(--line); background: none; color: var(--ink) }
  :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
`;

export function renderSignInPage(problem?: string): string {
  return renderPage(
    'Sign in as anyone',
    `<form method="post">
  ${problem === undefined ? '' : `<p role="alert">${escapeHtml(problem)}</p>`}
  <label>Any email address
    <input name="email" type="email" required maxlength="200" autocomplete="off" autofocus value="dev@example.com">
  </label>
  <label>Name (optional)
    <input name="name" maxlength="100" autocomplete="off">
  </label>
  <button name="action" value="sign-in">Sign in</button>
  <button name="action" value="refuse" formnovalidate>Refuse</button>
</form>`,
  );
}

export function renderFailurePage(reason: string): string {
  return renderPage('This did not work', `<p>${escapeHtml(reason)}</p>`);
}

function renderPage(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} (development)</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p class="warning"><strong>Development identity provider:</strong> anyone can sign in as anyone here. No password is needed.
It runs while no OIDC_ISSUER is set, on this machine alone.</p>
${content}
</main>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
