// The server sends what dist/ holds, from the root, with a policy that allows no inline script and no other host.
export default {
  base: '/',
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: Object.fromEntries(['/health', '/v1', '/props'].map((p) => [p, 'http://127.0.0.1:8080'])) },
};
