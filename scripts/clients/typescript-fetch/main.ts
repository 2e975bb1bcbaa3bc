// Tests the client of openapi-generator, typescript-fetch.
import {Configuration, JobsApi, JobStatus, RecordingsApi, ResponseError} from "./generated/index.js";
import type {MediaFile, ModelError} from "./generated/index.js";
import {LiveStateFromJSON} from "./generated/index.js";
import {check, done, equal, key, meetingUrl, readEvents, run, sha256, url} from "./check.js";

const configuration = new Configuration({basePath: url, accessToken: key});
const jobs = new JobsApi(configuration), recordings = new RecordingsApi(configuration);
const metadata = {run, captions: true, simulate: {seconds: 2}};
let id = "", later = "";

await check("create", async () => {
  const job = await jobs.createJob({jobCreate: {externalId: `${run}-a`, meetingUrl, metadata, autoLeave: {afterSoloSeconds: 120}}});
  equal(job.autoLeave.afterSoloSeconds, 120);
  equal(job.autoLeave.afterMaxSeconds, 14400);
  id = job.id;
  later = (await jobs.createJob({jobCreate: {externalId: `${run}-b`, meetingUrl, metadata: {run}, joinAt: new Date("2999-01-01T00:00:00Z")}})).id;
});
await check("list", async () => {
  const ids: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await jobs.listJobs({limit: 1, cursor, metadata: [`run=${run}`], platform: "meet"});
    ids.push(...page.jobs.map(job => job.id));
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  equal(ids.join(), [later, id].join());
  const page = await jobs.listJobs({metadata: [`run=${run}`], status: ["scheduled", "failed"], createdFrom: new Date("2020-01-01")});
  equal(page.jobs[0]!.id, later);
});
await check("get", async () => {
  const job = await jobs.getJob({id: later});
  equal(job.status, JobStatus.Scheduled);
  equal(job.joinAt.getUTCFullYear(), 2999);
});
await check("cancel", async () => jobs.cancelJob({id: later}));
await check("live", async () => {
  const {raw} = await jobs.liveJobRaw({id});
  let completed = false, last = "";
  for await (const event of readEvents(raw)) {
    last = event.event;
    if (event.event === "state") completed = LiveStateFromJSON(JSON.parse(event.data)).status === JobStatus.Completed;
  }
  equal(completed, true);
  equal(last, "end");
});
let media: MediaFile;
await check("manifest", async () => {
  const manifest = await recordings.getManifest({id});
  equal(manifest.participants.map(one => one.name).sort().join(), "Ada Quill,Ben Okafor,Callum Reid");
  media = manifest.media[0]!;
});
await check("media", async () => {
  const blob = await recordings.getMedia({id, name: media.name});
  equal(sha256(await (blob as Blob).arrayBuffer()), media.sha256);
});
await check("errors", async () => {
  const error = async (call: Promise<unknown>) => {
    try {
      await call;
    } catch (error) {
      if (error instanceof ResponseError) return await error.response.json() as ModelError;
    }
    throw new Error("no error");
  };
  equal((await error(jobs.createJob({jobCreate: {externalId: `${run}-c`, meetingUrl: "none"}}))).issues![0]!.path[0], "meetingUrl");
  equal((await error(jobs.getJob({id: "00000000-0000-0000-0000-000000000000"}))).error, "not_found");
});
done();
