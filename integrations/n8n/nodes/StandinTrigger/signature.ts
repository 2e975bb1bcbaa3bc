import { createHmac, timingSafeEqual } from 'crypto';

const toleranceSeconds = 300;

/**
 * Returns whether a webhook was signed with the secret in the last five minutes, by the rules of Standard Webhooks.
 * While a secret is being rotated, the header has a signature for each secret, separated by spaces.
 *
 * @param secret the text as it was shown (whsec_…)
 * @param headers the headers of the request, with names in lower case
 * @param body the raw body
 */
export function verifySignature(
	secret: string,
	headers: Record<string, string | string[] | undefined>,
	body: Buffer,
	now = Date.now() / 1000,
): boolean {
	const id = headers['webhook-id'];
	const timestamp = headers['webhook-timestamp'];
	const signatures = headers['webhook-signature'];
	if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return false;
	if (!/^\d+$/.test(timestamp) || Math.abs(now - Number(timestamp)) > toleranceSeconds) return false;

	const expected = createHmac('sha256', signingKey(secret)).update(`${id}.${timestamp}.`).update(body).digest();
	return signatures.split(' ').some((signature) => {
		if (!signature.startsWith('v1,')) return false;
		const given = Buffer.from(signature.slice(3), 'base64');
		return given.length === expected.length && timingSafeEqual(given, expected);
	});
}

/** The decoded part after whsec_. A secret that an operator has chosen in another form is the key as it is. */
function signingKey(secret: string): Buffer {
	const encoded = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(secret)?.[1];
	return encoded ? Buffer.from(encoded, 'base64') : Buffer.from(secret);
}
