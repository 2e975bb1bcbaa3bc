//go:build clientscheck

// Program main tests the client of openapi-generator, go.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	standin "clientscheck/generated"
)

func main() {
	ctx := context.WithValue(context.Background(), standin.ContextAccessToken, key)
	configuration := standin.NewConfiguration()
	configuration.Servers = standin.ServerConfigurations{{URL: url}}
	client := standin.NewAPIClient(configuration)
	metadata := map[string]any{"run": run, "captions": true, "simulate": map[string]any{"seconds": 2}}
	var first, later string

	check("create", func() {
		create := standin.NewJobCreate(run+"-a", meetingURL)
		create.Metadata = metadata
		create.AutoLeave = &standin.AutoLeaveConfig{AfterSoloSeconds: standin.PtrInt32(120)}
		job, _, err := client.JobsAPI.CreateJob(ctx).JobCreate(*create).Execute()
		must(job, err)
		equal(job.AutoLeave.AfterSoloSeconds, 120)
		equal(job.AutoLeave.AfterMaxSeconds, 14400)
		first = job.Id
		create = standin.NewJobCreate(run+"-b", meetingURL)
		create.Metadata = map[string]any{"run": run}
		create.JoinAt = standin.PtrTime(time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC))
		job, _, err = client.JobsAPI.CreateJob(ctx).JobCreate(*create).Execute()
		later = must(job, err).Id
	})
	check("list", func() {
		var ids []string
		request := client.JobsAPI.ListJobs(ctx).Limit(1).Metadata([]string{"run=" + run}).Platform(standin.MEET)
		for more := true; more; {
			page, _, err := request.Execute()
			for _, job := range must(page, err).Jobs {
				ids = append(ids, job.Id)
			}
			if more = page.NextCursor.Get() != nil; more {
				request = request.Cursor(*page.NextCursor.Get())
			}
		}
		equal(strings.Join(ids, ","), later+","+first)
		page, _, err := client.JobsAPI.ListJobs(ctx).Metadata([]string{"run=" + run}).
			Status([]standin.JobStatus{standin.SCHEDULED, standin.FAILED}).CreatedFrom(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)).Execute()
		equal(must(page, err).Jobs[0].Id, later)
	})
	check("get", func() {
		job, _, err := client.JobsAPI.GetJob(ctx, later).Execute()
		equal(must(job, err).Status, standin.SCHEDULED)
		equal(job.JoinAt.Year(), 2999)
	})
	check("cancel", func() { must(client.JobsAPI.CancelJob(ctx, later).Execute()) })
	checkWith("with net/http", "live", func() { // the generated method returns when the stream has ended
		request := must(http.NewRequest(http.MethodGet, url+"/api/v1/jobs/"+first+"/live", nil))
		request.Header.Set("Authorization", "Bearer "+key)
		response := must(http.DefaultClient.Do(request))
		defer response.Body.Close()
		completed, last := false, ""
		readEvents(response.Body, func(name, data string) {
			if last = name; name == "state" {
				var state standin.LiveState
				must(0, json.Unmarshal([]byte(data), &state))
				completed = state.Status == standin.COMPLETED
			}
		})
		equal(completed, true)
		equal(last, "end")
	})
	var file standin.MediaFile
	check("manifest", func() {
		manifest, _, err := client.RecordingsAPI.GetManifest(ctx, first).Execute()
		equal(slices.ContainsFunc(must(manifest, err).Participants, func(p standin.Participant) bool { return p.Name == "Ada Quill" }), true)
		file = manifest.Media[0]
	})
	check("media", func() {
		content, _, err := client.RecordingsAPI.GetMedia(ctx, first, file.Name).Execute()
		equal(sum(must(io.ReadAll(must(content, err)))), file.Sha256)
	})
	check("errors", func() {
		refusal := func(err error) standin.Error {
			var failed *standin.GenericOpenAPIError
			equal(errors.As(err, &failed), true)
			return failed.Model().(standin.Error)
		}
		_, _, err := client.JobsAPI.CreateJob(ctx).JobCreate(*standin.NewJobCreate(run+"-c", "none")).Execute()
		equal(*refusal(err).Issues[0].Path[0].String, "meetingUrl")
		_, _, err = client.JobsAPI.GetJob(ctx, "00000000-0000-0000-0000-000000000000").Execute()
		equal(refusal(err).Error, "not_found")
	})
	done()
}
