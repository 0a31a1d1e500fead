import { defineConfig } from 'vite';

// The addresses in the page are relative, so that it also works behind a proxy that serves Dibs under a path.
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  build: {
    assetsDir: 'dashboard',
    emptyOutDir: true,
    target: 'es2022',
    // An image inside a style sheet would need a wider policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
