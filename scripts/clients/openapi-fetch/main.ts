// Tests the types of openapi-typescript with openapi-fetch.
import createClient from "openapi-fetch";
import type {components, paths} from "./generated/standin.js";
import {check, done, equal, key, meetingUrl, readEvents, run, sha256, url} from "./check.js";

const client = createClient<paths>({baseUrl: url, headers: {Authorization: `Bearer ${key}`}});
const metadata = {run, captions: true, simulate: {seconds: 2}};
let id = "", later = "";

await check("create", async () => {
  const {data} = await client.POST("/api/v1/jobs", {
    body: {externalId: `${run}-a`, meetingUrl, metadata, autoLeave: {afterSoloSeconds: 120}},
  });
  equal(data!.autoLeave.afterSoloSeconds, 120);
  equal(data!.autoLeave.afterMaxSeconds, 14400);
  id = data!.id;
  const second = await client.POST("/api/v1/jobs", {
    body: {externalId: `${run}-b`, meetingUrl, metadata: {run}, joinAt: "2999-01-01T00:00:00Z"},
  });
  later = second.data!.id;
});
await check("list", async () => {
  const ids: string[] = [];
  for (let cursor: string | undefined; ;) {
    const {data} = await client.GET("/api/v1/jobs", {params: {query: {limit: 1, cursor, metadata: [`run=${run}`], platform: "meet"}}});
    ids.push(...data!.jobs.map(job => job.id));
    if (data!.nextCursor === null) break;
    cursor = data!.nextCursor;
  }
  equal(ids.join(), [later, id].join());
  const {data} = await client.GET("/api/v1/jobs", {params: {query: {metadata: [`run=${run}`], status: ["scheduled", "failed"], createdFrom: "2020-01-01T00:00:00Z"}}});
  equal(data!.jobs[0]!.id, later);
});
await check("get", async () => {
  const {data} = await client.GET("/api/v1/jobs/{id}", {params: {path: {id: later}}});
  const status: components["schemas"]["JobStatus"] = data!.status;
  equal(status, "scheduled");
});
await check("cancel", async () => {
  const {response} = await client.DELETE("/api/v1/jobs/{id}", {params: {path: {id: later}}});
  equal(response.status, 204);
});
await check("live", async () => {
  const {response} = await client.GET("/api/v1/jobs/{id}/live", {params: {path: {id}}, parseAs: "stream"});
  let completed = false, last = "";
  for await (const event of readEvents(response)) {
    last = event.event;
    if (event.event === "state") completed = (JSON.parse(event.data) as components["schemas"]["LiveState"]).status === "completed";
  }
  equal(completed, true);
  equal(last, "end");
});
let media: components["schemas"]["MediaFile"];
await check("manifest", async () => {
  const {data} = await client.GET("/api/v1/jobs/{id}/manifest", {params: {path: {id}}});
  equal(data!.participants.map(one => one.name).sort().join(), "Ada Quill,Ben Okafor,Callum Reid");
  media = data!.media[0]!;
});
await check("media", async () => {
  const {data} = await client.GET("/api/v1/jobs/{id}/media/{name}", {params: {path: {id, name: media.name}}, parseAs: "arrayBuffer"});
  equal(sha256(data as ArrayBuffer), media.sha256);
});
await check("errors", async () => {
  const {error, response} = await client.POST("/api/v1/jobs", {body: {externalId: `${run}-c`, meetingUrl: "none"}});
  equal(response.status, 400);
  equal(error!.issues![0]!.path[0], "meetingUrl");
  const missing = await client.GET("/api/v1/jobs/{id}", {params: {path: {id: "00000000-0000-0000-0000-000000000000"}}});
  equal(missing.error!.error, "not_found");
});
done();
