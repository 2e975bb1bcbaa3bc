import { createHmac, timingSafeEqual } from 'node:crypto';

const toleranceSeconds = 300;

/**
 * Returns whether a webhook was signed with the secret in the last five minutes, by the rules of Standard Webhooks.
 * While a secret is being rotated, the header has a signature for each secret, separated by spaces.
 *
 * @param secret the text as it was shown (whsec_…)
 * @param request the raw request. Zapier names its headers Http-Webhook-Id and so on.
 */
export function verifySignature(secret, { headers, content }, now = Date.now() / 1000) {
  const names = Object.entries(headers).map(([name, value]) => [name.toLowerCase().replace(/^http-/, ''), value]);
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = Object.fromEntries(names);
  if (!id || !signatures || !/^\d+$/.test(timestamp ?? '')) return false;
  if (Math.abs(now - Number(timestamp)) > toleranceSeconds) return false;

  const expected = createHmac('sha256', signingKey(secret)).update(`${id}.${timestamp}.${content}`).digest();
  return signatures.split(' ').some((signature) => {
    const [version, value] = signature.split(',');
    const given = Buffer.from(value ?? '', 'base64');
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/** The decoded part after whsec_. A secret that an operator has chosen in another form is the key as it is. */
function signingKey(secret) {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : secret;
}
