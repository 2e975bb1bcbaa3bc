// Sends a bot into a meeting, and saves its recording.
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Standin } from 'standin-client';

const standin = new Standin(); // STANDIN_URL and STANDIN_API_KEY
const job = await standin.createJob({
  externalId: `demo-${Date.now()}`, // your own ID of the meeting: a second request with it sends no second bot
  meetingUrl: 'https://meet.google.com/abc-defg-hij',
  captions: { enabled: true },
});
for await (const event of standin.live(job.id)) {
  if (event.event === 'state') console.log(event.data.status);
  if (event.event === 'caption') console.log(`${event.data.author}: ${event.data.text}`);
}
const done = await standin.waitUntilDone(job.id);
if (done.status !== 'completed') throw new Error(`${done.failureCode}: ${done.failureDetail}`);
for (const file of (await standin.getManifest(job.id)).media) {
  await pipeline(Readable.fromWeb(standin.download(job.id, file)), createWriteStream(file.name));
  console.log(file.name, file.bytes);
}
