// Receives the webhooks of jobs with Express: npm install express
import express from 'express';
import { receiveWebhook, WebhookSignatureError } from 'standin-client';

const secret = process.env.STANDIN_WEBHOOK_SECRET;
const seen = new Set(); // use your database

const app = express();
app.post('/hooks', express.raw({ type: 'application/json', limit: '4mb' }), async (request, response) => {
  try {
    const hook = await receiveWebhook(request.headers, request.body, secret);
    if (!seen.has(hook.deliveryId)) {
      seen.add(hook.deliveryId);
      console.log(hook.event, hook.data.jobId);
    }
    response.sendStatus(204);
  } catch (error) {
    if (!(error instanceof WebhookSignatureError)) throw error;
    response.sendStatus(400);
  }
});

const port = process.env.PORT ?? 9090;
app.listen(port, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${port}/hooks`));
