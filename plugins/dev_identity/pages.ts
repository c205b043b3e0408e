/*
 * The two HTML pages of the development sign-in: the form and the error. Their style differs from every real sign-in
 * page, and a warning says that no password is needed, so that no person enters one.
 */

const STYLE = `
  :root { color-scheme: light dark }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 3rem auto; padding: 0 1rem }
  .warning { border: 2px solid #b45309; border-radius: 8px; padding: .75rem 1rem }
  label { display: block; margin-top: 1rem }
  input { display: block; width: 100%; box-sizing: border-box; font: inherit; padding: .5rem; margin-top: .25rem }
  button { font: inherit; padding: .5rem 1rem; margin: 1.25rem .5rem 0 0 }
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
