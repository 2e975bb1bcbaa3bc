import { defineConfig } from '@hey-api/openapi-ts';

// Imports have extensions, as ES modules need them.
export default defineConfig({
  input: process.env.DESCRIPTION ?? '',
  output: { path: 'generated', module: { extension: '.js' } },
  plugins: ['@hey-api/client-fetch'],
  logs: { level: 'silent' },
});
