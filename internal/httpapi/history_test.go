package httpapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/httpapi"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/webhook"
)

// fakeHistory is a History with fixed entries and deliveries.
type fakeHistory struct {
	httpapi.History // nil: the other methods are not called
}

func (fakeHistory) Deliveries(context.Context, account.Caller, uuid.UUID, lifecycle.Page) ([]webhook.DeliveryRecord, string, error) {
	at := time.UnixMilli(0).UTC()
	return []webhook.DeliveryRecord{
		{ID: "dlv_1", URL: "https://a.example/?a&b", Event: "job.failed", Sequence: 1, EmittedAt: at, Version: 1, State: webhook.DeliveryFailed,
			Attempt: 2, EndedAt: at, EndReason: "the receiver is gone",
			Tries: []webhook.Try{
				{Number: 1, StartedAt: at, Latency: 1500 * time.Microsecond, Error: "no answer"},
				{Number: 2, StartedAt: at, StatusCode: 410, ResponseBody: []byte("gone\xff\x00é")},
			}},
		{ID: "dlv_2", URL: "https://a.example", Event: "job.failed", Sequence: 2, EmittedAt: at, Version: 2, State: webhook.DeliveryWaiting, NextTryAt: at},
	}, "next", nil
}

func (fakeHistory) Timeline(context.Context, account.Caller, uuid.UUID, lifecycle.Page) ([]job.TimelineEntry, string, error) {
	at := time.UnixMilli(0).UTC()
	return []job.TimelineEntry{
		{ID: adasJob, Source: job.SourceService, Kind: job.AttemptStarted, EmittedAt: at, ReceivedAt: at, Applied: true, From: job.Scheduled, To: job.Dispatching},
		{ID: adasJob, Source: job.SourceBot, Kind: job.BotJoined, EmittedAt: at, ReceivedAt: at, Reason: job.Duplicate, From: job.Joining, To: job.Joining, Data: []byte(`{"a":"<"}`)},
	}, "", nil
}

// TestHistoryListsEntriesAndDeliveries checks fields with and without values.
func TestHistoryListsEntriesAndDeliveries(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) { settings.History = fakeHistory{} })
	own := jobsPath + "/" + adasJob.String()
	s.run(t, []surfaceCase{
		{"deliveries", request{"GET", own + "/deliveries", adasKey, nil, ""}, jobRoute + "/deliveries", 200, []string{
			`"url":"https://a.example/?a&b"`, `"state":"failed"`, `"endReason":"the receiver is gone"`, `"nextTryAt":null`, `"endedAt":"1970-01-01T00:00:00.000Z"`,
			`{"number":1,"startedAt":"1970-01-01T00:00:00.000Z","latencyMs":1,"status":null,"error":"no answer","responseBody":""}`,
			`{"number":2,"startedAt":"1970-01-01T00:00:00.000Z","latencyMs":0,"status":410,"error":null,"responseBody":"gone` + "\uFFFD" + `\u0000é"}`,
			`"nextTryAt":"1970-01-01T00:00:00.000Z","endedAt":null,"endReason":null,"tries":[]`, `"nextCursor":"next"`,
		}, nil, nil},
		{"timeline", request{"GET", own + "/timeline", adasKey, nil, ""}, jobRoute + "/timeline", 200, []string{
			`"kind":"attempt_started"`, `"reason":null`, `"data":{}`, `"kind":"lifecycle.joined"`, `"reason":"duplicate"`, `"data":{"a":"<"}`, `"nextCursor":null`,
		}, nil, nil},
	})
}
