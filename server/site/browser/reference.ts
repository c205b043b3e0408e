type Viewer = (options: Readonly<Record<string, unknown>>) => unknown;

declare global {
  interface Window {
    SwaggerUIBundle?: Viewer;
  }
}

const dark = matchMedia('(prefers-color-scheme: dark)');
// What the viewer calls its dark look; as the rest of the page, it follows the machine.
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

// Both scripts wait for the page, in the order they stand in; this one is first.
document.addEventListener('DOMContentLoaded', () => {
  window.SwaggerUIBundle?.({
    url: '/openapi.json',
    dom_id: '#reference',
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    // No key outlives the visit.
    persistAuthorization: false,
    validatorUrl: null,
  });
});

export {};
