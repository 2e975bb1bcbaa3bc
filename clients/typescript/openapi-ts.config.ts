import { defineConfig } from '@hey-api/openapi-ts';

// Imports have extensions, as ES modules in Node and browsers need them.
export default defineConfig({
  input: process.env.DESCRIPTION ?? '../../api/openapi.yaml',
  output: { path: 'src/generated', module: { extension: '.js' } },
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
  logs: { level: 'warn' },
});
