import { StandinError, WebhookSignatureError } from './errors.js';
import type { WebhookEvent } from './generated/index.js';

/**
 * The body of a webhook. Its `event` tells which one: later versions of the service have more, which are passed on. Use
 * `deliveryId` to discard duplicates.
 */
export type Webhook = WebhookEvent;

/** The headers of a request: those of fetch, of node:http, or of a framework. */
export type WebhookHeaders = Headers | Iterable<readonly [string, string]> | Record<string, string | string[] | undefined>;

/** As in the Standard Webhooks libraries. */
const toleranceSeconds = 300;

/**
 * Checks that a webhook was signed with the secret, in both schemes, less than five minutes ago. Signatures are compared
 * in constant time.
 *
 * @param headers the headers of the request
 * @param body its raw body, not one that was parsed and encoded again
 * @param secret the text as it was shown (`whsec_...`)
 * @throws WebhookSignatureError
 */
export async function verifyWebhook(
  headers: WebhookHeaders,
  body: Uint8Array | string,
  secret: string,
  options: { now?: Date } = {},
): Promise<void> {
  const values = valuesOf(headers);
  const id = values('webhook-id').join(',');
  const timestamp = values('webhook-timestamp').join(',');
  if (!/^\d{1,15}$/.test(timestamp)) throw new WebhookSignatureError('the webhook has no time');
  const now = (options.now ?? new Date()).getTime() / 1000;
  if (Math.abs(now - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookSignatureError('the webhook was signed too long ago');
  }
  const raw = typeof body === 'string' ? bytesOf(body) : new Uint8Array(body);
  const start = bytesOf(`${id}.${timestamp}.`);
  const signed = new Uint8Array(start.length + raw.length);
  signed.set(start);
  signed.set(raw, start.length);
  // While two secrets are valid, there is a signature for each. Some frameworks join headers of one name with commas.
  const standard = values('webhook-signature')
    .flatMap((value) => value.split(/ +/))
    .map((value) => (value.startsWith('v1,') ? fromBase64(value.slice(3)) : undefined));
  const service = values('x-service-signature')
    .flatMap((value) => value.split(/, */))
    .map((value) => (value.startsWith('sha256=') ? fromHex(value.slice(7)) : undefined));
  const genuine = [await matches(standardKey(secret), standard, signed), await matches(bytesOf(secret), service, raw)];
  if (genuine.includes(false)) throw new WebhookSignatureError('the signature of the webhook does not verify');
}

/**
 * Verifies and decodes a webhook. Respond with a 2xx status after storing it.
 *
 * @throws WebhookSignatureError, or another StandinError if the body is not JSON
 */
export async function receiveWebhook(
  headers: WebhookHeaders,
  body: Uint8Array | string,
  secret: string,
  options: { now?: Date } = {},
): Promise<Webhook> {
  await verifyWebhook(headers, body, secret, options);
  try {
    return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)) as Webhook;
  } catch (error) {
    throw new StandinError('the webhook is not JSON', { cause: error });
  }
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Returns whether one of the signatures is that of the content. */
async function matches(secret: Bytes, signatures: (Bytes | undefined)[], content: Bytes): Promise<boolean> {
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  let found = false;
  for (const signature of signatures) {
    if (signature && (await crypto.subtle.verify('HMAC', key, signature, content))) found = true;
  }
  return found;
}

/** Returns the values of a header by its name in lower case. */
function valuesOf(headers: WebhookHeaders): (name: string) => string[] {
  const pairs = Symbol.iterator in headers ? [...headers] : Object.entries(headers);
  return (wanted) =>
    pairs.filter(([name]) => name.toLowerCase() === wanted).flatMap(([, value]) => value ?? []);
}

/** Returns the Standard Webhooks key: the decoded part of `whsec_...`, or the bytes of a secret in another form. */
function standardKey(secret: string): Bytes {
  const decoded = secret.startsWith('whsec_') ? fromBase64(secret.slice(6)) : undefined;
  return decoded?.length ? decoded : bytesOf(secret);
}

function bytesOf(text: string): Bytes {
  return new Uint8Array(new TextEncoder().encode(text));
}

function fromBase64(text: string): Bytes | undefined {
  if (!/^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return undefined;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function fromHex(text: string): Bytes | undefined {
  if (!/^([0-9a-f]{2})+$/.test(text)) return undefined;
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
