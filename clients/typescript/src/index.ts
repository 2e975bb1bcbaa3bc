export { isFinal, Standin } from './client.js';
export type { Audio, Command, CreatedJob, DeliveryFilter, JobFilter, Options } from './client.js';
export * from './errors.js';
export type * from './generated/types.gen.js';
export type { LiveEvent } from './live.js';
export { receiveWebhook, verifyWebhook } from './webhooks.js';
export type { Webhook, WebhookHeaders } from './webhooks.js';
