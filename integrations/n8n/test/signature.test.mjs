import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

import signature from '../dist/nodes/StandinTrigger/signature.js';

const { verifySignature } = signature;
const now = 1_790_000_000;
const secret = `whsec_${Buffer.from('a secret of the team').toString('base64')}`;
const rotated = `whsec_${Buffer.from('the secret before it').toString('base64')}`;
const body = Buffer.from('{"deliveryId": "dlv_1",\n "name": "Zoë 🎥 & <b>"}');

/** Signs a body as the service does. */
function headers({ secrets = [secret], id = 'dlv_1', timestamp = String(now), signed = body } = {}) {
	const signatures = secrets.map((key) => {
		const hmac = createHmac('sha256', Buffer.from(key.slice('whsec_'.length), 'base64'));
		return `v1,${hmac.update(`${id}.${timestamp}.`).update(signed).digest('base64')}`;
	});
	return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

const cases = [
	['a signed body with characters of several bytes', true, headers()],
	['an empty body', true, headers({ signed: Buffer.alloc(0) }), Buffer.alloc(0)],
	['two signatures, ours is the first', true, headers({ secrets: [secret, rotated] })],
	['two signatures, ours is the second', true, headers({ secrets: [rotated, secret] })],
	['four minutes old', true, headers({ timestamp: String(now - 240) })],
	['six minutes old', false, headers({ timestamp: String(now - 360) })],
	['six minutes ahead', false, headers({ timestamp: String(now + 360) })],
	['another secret', false, headers({ secrets: [rotated] })],
	['a body that was parsed and encoded again', false, headers(), Buffer.from(JSON.stringify(JSON.parse(body)))],
	['another ID', false, { ...headers(), 'webhook-id': 'dlv_2' }],
	['another time', false, { ...headers(), 'webhook-timestamp': String(now + 1) }],
	['a time that is no number', false, headers({ timestamp: 'now' })],
	['another version', false, { ...headers(), 'webhook-signature': headers()['webhook-signature'].replace('v1,', 'v2,') }],
	['a short signature', false, { ...headers(), 'webhook-signature': 'v1,AAAA' }],
	['an empty signature', false, { ...headers(), 'webhook-signature': '' }],
	['no headers', false, {}],
];
for (const [name, valid, given, received = body] of cases) {
	test(name, () => assert.equal(verifySignature(secret, given, received, now), valid));
}

// The requests with which Standin tests its clients. Those without x-service-signature pass here, which checks the other one.
const examples = new URL('../../../clients/webhooks.json', import.meta.url);
if (existsSync(examples)) {
	for (const example of JSON.parse(readFileSync(examples, 'utf8')).cases) {
		const given = Object.fromEntries(example.headers.map(([name, value]) => [name.toLowerCase(), value]));
		const valid = example.valid || example.name.endsWith(' service signature');
		test(`example: ${example.name}`, () => {
			assert.equal(verifySignature(example.secret, given, Buffer.from(example.body), example.now), valid);
		});
	}
}
