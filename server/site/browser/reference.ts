type Viewer = (options: Readonly<Record<string, unknown>>) => unknown;

declare global {
  interface Window {
    SwaggerUIBundle?: Viewer;
  }
}

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
