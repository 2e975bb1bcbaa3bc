package webhook_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

// sameJSON compares JSON documents, including the digits of numbers.
func sameJSON(t *testing.T, got []byte, want string) {
	t.Helper()
	read := func(document []byte) (value any) {
		decoder := json.NewDecoder(bytes.NewReader(document))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("%v in %s", err, document)
		}
		return value
	}
	if !reflect.DeepEqual(read(got), read([]byte(want))) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEventDataIsTheSpecificationsTable(t *testing.T) {
	t.Parallel()
	denied := failed(job.HostDeniedAdmission, "the host said no")
	wordless := failed(job.HostDeniedAdmission, "")
	tests := []struct {
		name  string
		event webhook.Event
		job   job.Job
		want  string // without event, jobId, sequence and job
	}{
		{
			webhook.JobStatusChanged, webhook.StatusChanged(meeting(), job.Scheduled, job.Dispatching), meeting(),
			`{"from":"scheduled","to":"dispatching","failure_code":null,"failure_detail":null,"failure_reason":null}`,
		},
		{
			webhook.JobStatusChanged, webhook.StatusChanged(denied, job.EnteringLobby, job.Failed), denied,
			`{"from":"entering_lobby","to":"failed","failure_code":"host_denied_admission",
				"failure_detail":"the host said no","failure_reason":"the host said no"}`,
		},
		{
			webhook.JobFinalized, webhook.Finalized(completed()), completed(),
			`{"manifestUri":"https://standin.example/api/v1/jobs/7d4f7c2e-6a53-4a4c-9f0e-0d6f6f6f6f01/manifest"}`,
		},
		{
			webhook.JobTranscriptReady, webhook.TranscriptReady(completed(), job.TranscriptResult{
				Segments: 3, AudioMs: 10, Revision: 2, Partial: true,
			}), completed(),
			`{"manifestUri":"https://standin.example/api/v1/jobs/7d4f7c2e-6a53-4a4c-9f0e-0d6f6f6f6f01/manifest",
				"manifestRevision":2,"segments":3,"partial":true}`,
		},
		{
			webhook.JobFailed, webhook.Failed(denied), denied,
			`{"status":"failed","failure_code":"host_denied_admission","failure_detail":"the host said no",
				"failure_reason":"the host said no","error":"the host said no"}`,
		},
		{
			webhook.JobFailed, webhook.Failed(wordless), wordless,
			`{"status":"failed","failure_code":"host_denied_admission","failure_detail":"host denied admission",
				"failure_reason":"host denied admission","error":"host denied admission"}`,
		},
		{
			webhook.BotPermissionResponse, webhook.PermissionResponse(meeting(), true, ""), meeting(),
			`{"granted":true}`,
		},
		{
			webhook.BotPermissionResponse, webhook.PermissionResponse(meeting(), false, "timeout"), meeting(),
			`{"granted":false,"detail":"timeout"}`,
		},
		{
			webhook.BotCompetingDetected, webhook.CompetingBot(meeting(), "Scribe", true), meeting(),
			`{"detectedBotName":"Scribe","leftMeeting":true}`,
		},
		{
			webhook.BotCommandOutcome, webhook.CommandOutcome(meeting(), "c1", ingest.PauseRecording, ""), meeting(),
			`{"commandId":"c1","command":"pause_recording","outcome":"done"}`,
		},
		{
			webhook.BotCommandOutcome, webhook.CommandOutcome(meeting(), "c2", ingest.PinParticipant, "nobody is p-9"), meeting(),
			`{"commandId":"c2","command":"pin_participant","outcome":"failed","reason":"nobody is p-9"}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.event.Name != test.name {
				t.Errorf("name %q, want %q", test.event.Name, test.name)
			}
			data, err := test.event.Data(7)
			if err != nil {
				t.Fatal(err)
			}
			body, err := json.Marshal(job.NewView(test.job))
			if err != nil {
				t.Fatal(err)
			}
			sameJSON(t, data, test.want[:len(test.want)-1]+`,"event":"`+test.name+`","sequence":7,
				"jobId":"7d4f7c2e-6a53-4a4c-9f0e-0d6f6f6f6f01","job":`+string(body)+`}`)
		})
	}
}

func TestDataLeavesTheEventAsItWas(t *testing.T) {
	t.Parallel()
	event := webhook.Finalized(completed())
	first, err := event.Data(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := event.Data(2); err != nil {
		t.Fatal(err)
	}
	again, err := event.Data(1)
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("data of one number differ: %s and %s, %v", first, again, err)
	}
	if bytes.Contains(first, []byte(`\u0026`)) {
		t.Errorf("addresses are escaped beyond reading: %s", first)
	}
}

func TestDataRefusesMetadataThatIsNoJSON(t *testing.T) {
	t.Parallel()
	broken := meeting()
	broken.Metadata = json.RawMessage(`{"a":`)
	if data, err := webhook.Finalized(broken).Data(1); err == nil {
		t.Errorf("composed %s", data)
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	const status, final, fallback = "https://a.example/s", "https://a.example/f", "https://a.example/default"
	both := job.Webhooks{OnStatusChange: status, OnFinalize: final}
	tests := []struct {
		name     string
		hooks    job.Webhooks
		fallback string
		event    string
		want     []string
	}{
		{"a transition", both, fallback, webhook.JobStatusChanged, []string{status}},
		{"a bot event", both, fallback, webhook.BotPermissionResponse, []string{status}},
		{"another bot event", both, fallback, webhook.BotCompetingDetected, []string{status}},
		{"an outcome of a command", both, fallback, webhook.BotCommandOutcome, []string{status}},
		{"a manifest", both, fallback, webhook.JobFinalized, []string{final}},
		{"a transcript", both, fallback, webhook.JobTranscriptReady, []string{final}},
		{"a failure", both, fallback, webhook.JobFailed, []string{status, final}},
		{"a failure, one address twice", job.Webhooks{OnStatusChange: status, OnFinalize: status}, fallback,
			webhook.JobFailed, []string{status}},
		{"a failure, status only", job.Webhooks{OnStatusChange: status}, fallback, webhook.JobFailed, []string{status}},
		{"a failure, finalize only", job.Webhooks{OnFinalize: final}, fallback, webhook.JobFailed, []string{final}},
		{"a transition, finalize only", job.Webhooks{OnFinalize: final}, fallback, webhook.JobStatusChanged, nil},
		{"a manifest, status only", job.Webhooks{OnStatusChange: status}, fallback, webhook.JobFinalized, nil},
		{"a transition, no address", job.Webhooks{}, fallback, webhook.JobStatusChanged, []string{fallback}},
		{"a manifest, no address", job.Webhooks{}, fallback, webhook.JobFinalized, []string{fallback}},
		{"a failure, no address", job.Webhooks{}, fallback, webhook.JobFailed, []string{fallback}},
		{"no address and no default", job.Webhooks{}, "", webhook.JobFailed, nil},
		{"no such event", both, fallback, "job.imagined", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			j := meeting()
			j.Webhooks = test.hooks
			if got := webhook.Targets(j, test.fallback, test.event); !slices.Equal(got, test.want) {
				t.Errorf("targets %q, want %q", got, test.want)
			}
		})
	}
}
