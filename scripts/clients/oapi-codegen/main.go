//go:build clientscheck

// Program main tests the client of oapi-codegen.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	standin "clientscheck/generated"
)

func pointer[T any](value T) *T { return &value }

func main() {
	ctx := context.Background()
	client := must(standin.NewClientWithResponses(url, standin.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	})))
	metadata := map[string]any{"run": run, "captions": true, "simulate": map[string]any{"seconds": 2}}
	var first, later uuid.UUID

	check("create", func() {
		job := must(client.CreateJobWithResponse(ctx, nil, standin.JobCreate{
			ExternalId: run + "-a", MeetingUrl: meetingURL, Metadata: &metadata, AutoLeave: &standin.AutoLeaveConfig{AfterSoloSeconds: pointer(120)},
		})).JSON201
		equal(job.AutoLeave.AfterSoloSeconds, 120)
		equal(job.AutoLeave.AfterMaxSeconds, 14400)
		first = job.Id
		later = must(client.CreateJobWithResponse(ctx, nil, standin.JobCreate{
			ExternalId: run + "-b", MeetingUrl: meetingURL, Metadata: &map[string]any{"run": run}, JoinAt: pointer(time.Date(2999, 1, 1, 0, 0, 0, 0,
				time.UTC)),
		})).JSON201.Id
	})
	check("list", func() {
		var ids []uuid.UUID
		query := standin.ListJobsParams{Limit: pointer(1), Metadata: &[]string{"run=" + run}, Platform: pointer(standin.PlatformMeet)}
		for more := true; more; more = query.Cursor != nil {
			page := must(client.ListJobsWithResponse(ctx, &query)).JSON200
			for _, job := range page.Jobs {
				ids = append(ids, job.Id)
			}
			query.Cursor = page.NextCursor
		}
		equal(slices.Equal(ids, []uuid.UUID{later, first}), true)
		page := must(client.ListJobsWithResponse(ctx, &standin.ListJobsParams{
			Metadata: &[]string{"run=" + run}, Status: &[]standin.JobStatus{standin.JobStatusScheduled, standin.JobStatusFailed},
			CreatedFrom: pointer(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)),
		})).JSON200
		equal(page.Jobs[0].Id, later)
	})
	check("get", func() {
		job := must(client.GetJobWithResponse(ctx, later)).JSON200
		equal(job.Status, standin.JobStatusScheduled)
		equal(job.JoinAt.Year(), 2999)
	})
	check("cancel", func() { equal(must(client.CancelJobWithResponse(ctx, later)).StatusCode(), 204) })
	check("live", func() {
		response := must(client.ClientInterface.LiveJob(ctx, first, nil))
		defer response.Body.Close()
		completed, last := false, ""
		readEvents(response.Body, func(name, data string) {
			if last = name; name == "state" {
				var state standin.LiveState
				must(0, json.Unmarshal([]byte(data), &state))
				completed = state.Status == standin.JobStatusCompleted
			}
		})
		equal(completed, true)
		equal(last, "end")
	})
	var file standin.MediaFile
	check("manifest", func() {
		manifest := must(client.GetManifestWithResponse(ctx, first)).JSON200
		equal(slices.ContainsFunc(manifest.Participants, func(p standin.Participant) bool { return p.Name == "Ada Quill" }), true)
		file = manifest.Media[0]
	})
	check("media", func() { equal(sum(must(client.GetMediaWithResponse(ctx, first, file.Name, nil)).Body), file.Sha256) })
	check("errors", func() {
		refused := must(client.CreateJobWithResponse(ctx, nil, standin.JobCreate{ExternalId: run + "-c", MeetingUrl: "none"})).JSON400
		equal(must((*refused.Issues)[0].Path[0].AsIssuePath0()), "meetingUrl")
		equal(must(client.GetJobWithResponse(ctx, uuid.Nil)).JSON404.Error, "not_found")
	})
	done()
}
