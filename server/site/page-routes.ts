/* Declarations that the routes of pages share. */

const PAGE = { 200: { description: 'The page.', type: 'text/html' } };

/** Declarations that all pages share. */
export const PAGE_ROUTE = { method: 'GET', grant: 'none', format: 'page', tag: 'Pages', answers: PAGE } as const;

/** Declarations that pages of the signed-in user share. */
export const OWN_PAGE_ROUTE = {
  ...PAGE_ROUTE,
  grant: 'session',
  answers: { ...PAGE, 303: { description: 'To the sign-in page, where nobody is signed in.' } },
} as const;
