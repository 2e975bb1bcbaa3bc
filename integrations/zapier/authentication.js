export default {
  type: 'custom',
  fields: [
    {
      key: 'baseUrl',
      label: 'Base URL',
      type: 'string',
      required: true,
      placeholder: 'https://standin.example.com',
      helpText: 'The address of your Standin service, which Zapier must reach.',
    },
    {
      key: 'apiKey',
      label: 'API Key',
      type: 'password',
      required: true,
      helpText:
        'A key with the scope `jobs`, or `admin` for triggers. Create one with `standin keys create`. ' +
        'The bots of a test key join simulated meetings.',
    },
    {
      key: 'webhookSecret',
      label: 'Webhook Secret',
      type: 'password',
      required: false,
      helpText:
        'The webhook secret of your team (`whsec_…`), with which triggers verify events. ' +
        '`standin teams show NAME --secret` prints it.',
    },
  ],
  test: { url: '/api/v1/me' },
  /** The team, and the mode of a test key. The input is what the test returned. */
  connectionLabel: (z, { inputData: { consumer, key } }) => (key.mode === 'test' ? `${consumer.name} (test)` : consumer.name),
};
