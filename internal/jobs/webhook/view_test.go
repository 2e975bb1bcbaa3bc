package webhook_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

var (
	jobID   = uuid.MustParse("7d4f7c2e-6a53-4a4c-9f0e-0d6f6f6f6f01")
	created = time.Date(2026, 11, 20, 10, 30, 0, 123_456_789, time.FixedZone("", 3600))
)

// meeting is a job in its first second.
func meeting() job.Job {
	return job.Job{
		ID:         jobID,
		ExternalID: "standup-1",
		MeetingURL: "https://zoom.us/j/1?pwd=a&tk=<b>",
		Platform:   job.ZoomWeb,
		JoinAt:     created.Add(time.Hour),
		CreatedAt:  created,
		Webhooks:   job.Webhooks{OnStatusChange: "https://a.example/status", OnFinalize: "https://a.example/final"},
		Metadata:   json.RawMessage(`{"big": 12345678901234567890, "team": "a&b"}`),
		AutoLeave:  job.DefaultAutoLeave(),
		State:      job.New(),
	}
}

func failed(code job.FailureCode, detail string) job.Job {
	j := meeting()
	j.Status, j.FailureCode, j.FailureDetail = job.Failed, code, detail
	return j
}

func completed() job.Job {
	j := meeting()
	j.Status = job.Completed
	j.Attempts = 1
	j.StartedAt = created.Add(time.Hour)
	j.FinalizedAt = created.Add(2 * time.Hour)
	j.ManifestURI = "https://standin.example/api/v1/jobs/" + jobID.String() + "/manifest"
	return j
}

func TestJobViewHasEveryFieldOfTheSpecification(t *testing.T) {
	t.Parallel()
	autoLeave := `{"afterEntryDelaySeconds":600,"afterSilenceSeconds":1200,"afterSoloSeconds":60,` +
		`"afterMaxSeconds":14400,"onBotDetected":false}`
	bare := meeting()
	bare.Metadata = nil
	tests := []struct {
		name string
		job  job.Job
		want string
	}{
		{"just created", meeting(), `{"id":"7d4f7c2e-6a53-4a4c-9f0e-0d6f6f6f6f01","externalId":"standup-1",
			"status":"scheduled","meetingUrl":"https://zoom.us/j/1?pwd=a&tk=<b>","platform":"zoom-web",
			"joinAt":"2026-11-20T10:30:00.123Z","attempts":0,"createdAt":"2026-11-20T09:30:00.123Z",
			"startedAt":null,"finalizedAt":null,"manifestUri":null,"failureCode":null,"failureDetail":null,
			"metadata":{"big":12345678901234567890,"team":"a&b"},"autoLeave":` + autoLeave + `}`},
		{"completed", completed(), `{"id":"7d4f7c2e-6a53-4a4c-9f0e-0d6f6f6f6f01","externalId":"standup-1",
			"status":"completed","meetingUrl":"https://zoom.us/j/1?pwd=a&tk=<b>","platform":"zoom-web",
			"joinAt":"2026-11-20T10:30:00.123Z","attempts":1,"createdAt":"2026-11-20T09:30:00.123Z",
			"startedAt":"2026-11-20T10:30:00.123Z","finalizedAt":"2026-11-20T11:30:00.123Z",
			"manifestUri":"https://standin.example/api/v1/jobs/7d4f7c2e-6a53-4a4c-9f0e-0d6f6f6f6f01/manifest",
			"failureCode":null,"failureDetail":null,
			"metadata":{"big":12345678901234567890,"team":"a&b"},"autoLeave":` + autoLeave + `}`},
		{"failed", failed(job.LobbyTimeout, "nobody let the bot in"), `{"id":"7d4f7c2e-6a53-4a4c-9f0e-0d6f6f6f6f01",
			"externalId":"standup-1","status":"failed","meetingUrl":"https://zoom.us/j/1?pwd=a&tk=<b>",
			"platform":"zoom-web","joinAt":"2026-11-20T10:30:00.123Z","attempts":0,
			"createdAt":"2026-11-20T09:30:00.123Z","startedAt":null,"finalizedAt":null,"manifestUri":null,
			"failureCode":"lobby_timeout","failureDetail":"nobody let the bot in",
			"metadata":{"big":12345678901234567890,"team":"a&b"},"autoLeave":` + autoLeave + `}`},
		{"without metadata", bare, `{"id":"7d4f7c2e-6a53-4a4c-9f0e-0d6f6f6f6f01","externalId":"standup-1",
			"status":"scheduled","meetingUrl":"https://zoom.us/j/1?pwd=a&tk=<b>","platform":"zoom-web",
			"joinAt":"2026-11-20T10:30:00.123Z","attempts":0,"createdAt":"2026-11-20T09:30:00.123Z",
			"startedAt":null,"finalizedAt":null,"manifestUri":null,"failureCode":null,"failureDetail":null,
			"metadata":{},"autoLeave":` + autoLeave + `}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(job.NewView(test.job))
			if err != nil {
				t.Fatal(err)
			}
			sameJSON(t, got, test.want)
		})
	}
}

func TestTimestampRoundTrip(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   time.Time
		want string
	}{
		{created, `"2026-11-20T09:30:00.123Z"`},
		{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), `"2026-01-02T03:04:05.000Z"`},
		{time.Date(2026, 1, 2, 3, 4, 5, 999_999_999, time.UTC), `"2026-01-02T03:04:05.999Z"`},
	}
	for _, test := range tests {
		got, err := json.Marshal(job.Timestamp(test.in))
		if err != nil || string(got) != test.want {
			t.Errorf("marshal %v = %s, %v; want %s", test.in, got, err, test.want)
		}
		var back job.Timestamp
		if err := json.Unmarshal(got, &back); err != nil || !back.Time().Equal(test.in.Truncate(time.Millisecond)) {
			t.Errorf("unmarshal %s = %v, %v", got, back, err)
		}
	}
	var timestamp job.Timestamp
	if err := json.Unmarshal([]byte(`"yesterday"`), &timestamp); err == nil {
		t.Error("a word was read as a time")
	}
}
