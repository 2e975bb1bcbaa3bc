// Verifies the webhooks of Standin with the modules of Node only. Copy this file.
const crypto = require('node:crypto');

// verifyWebhook returns whether a webhook was sent by Standin in the last five
// minutes. secret is the text as it was shown (whsec_...), headers an object
// with names in lower case, body a Buffer with the raw bytes.
function verifyWebhook(secret, headers, body, now = Date.now() / 1000) {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signatures = headers['webhook-signature'];
  if (!id || !signatures || !/^\d+$/.test(timestamp ?? '')) return false;
  if (Math.abs(now - Number(timestamp)) > 300) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const wanted = crypto
    .createHmac('sha256', key)
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest();
  let verified = false;
  for (const signature of signatures.split(' ')) {
    const [version, value] = signature.split(',');
    const given = Buffer.from(value ?? '', 'base64');
    if (version === 'v1' && given.length === wanted.length && crypto.timingSafeEqual(given, wanted)) {
      verified = true;
    }
  }
  return verified;
}

module.exports = { verifyWebhook };
