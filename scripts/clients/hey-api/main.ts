// Tests the client of @hey-api/openapi-ts.
import {client} from "./generated/client.gen.js";
import * as standin from "./generated/index.js";
import {check, done, equal, key, meetingUrl, run, sha256, url} from "./check.js";

client.setConfig({baseUrl: url, auth: () => key});
const metadata = {run, captions: true, simulate: {seconds: 2}};
let id = "", later = "";

await check("create", async () => {
  const {data} = await standin.createJob({body: {externalId: `${run}-a`, meetingUrl, metadata, autoLeave: {afterSoloSeconds: 120}}});
  equal(data!.autoLeave.afterSoloSeconds, 120);
  equal(data!.autoLeave.afterMaxSeconds, 14400);
  id = data!.id;
  const second = await standin.createJob({body: {externalId: `${run}-b`, meetingUrl, metadata: {run}, joinAt: "2999-01-01T00:00:00Z"}});
  later = second.data!.id;
});
await check("list", async () => {
  const ids: string[] = [];
  for (let cursor: string | undefined; ;) {
    const {data} = await standin.listJobs({query: {limit: 1, cursor, metadata: [`run=${run}`], platform: "meet"}});
    ids.push(...data!.jobs.map(job => job.id));
    if (data!.nextCursor === null) break;
    cursor = data!.nextCursor;
  }
  equal(ids.join(), [later, id].join());
  const {data} = await standin.listJobs({query: {metadata: [`run=${run}`], status: ["scheduled", "failed"], createdFrom: "2020-01-01T00:00:00Z"}});
  equal(data!.jobs[0]!.id, later);
});
await check("get", async () => {
  const {data} = await standin.getJob({path: {id: later}});
  const status: standin.JobStatus = data!.status;
  equal(status, "scheduled");
});
await check("cancel", async () => {
  const {response} = await standin.cancelJob({path: {id: later}});
  equal(response!.status, 204);
});
await check("live", async () => {
  let completed = false, last = "";
  const {stream} = await standin.liveJob({
    path: {id}, sseMaxRetryAttempts: 1,
    onSseEvent: event => {
      last = event.event ?? last;
      if (event.event === "state") completed = (event.data as unknown as standin.LiveState).status === "completed";
    },
  });
  for await (const _ of stream) if (last === "end") break;
  equal(completed, true);
  equal(last, "end");
});
let media: standin.MediaFile;
await check("manifest", async () => {
  const {data} = await standin.getManifest({path: {id}});
  equal(data!.participants.map(one => one.name).sort().join(), "Ada Quill,Ben Okafor,Callum Reid");
  media = data!.media[0]!;
});
await check("media", async () => {
  const {data} = await standin.getMedia({path: {id, name: media.name}});
  equal(sha256(await (data as Blob).arrayBuffer()), media.sha256);
});
await check("errors", async () => {
  const {error, response} = await standin.createJob({body: {externalId: `${run}-c`, meetingUrl: "none"}});
  equal(response!.status, 400);
  equal(error!.issues![0]!.path[0], "meetingUrl");
  const missing = await standin.getJob({path: {id: "00000000-0000-0000-0000-000000000000"}});
  equal(missing.error!.error, "not_found");
});
done();
