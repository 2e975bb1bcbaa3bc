package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"standin/internal/jobs/job"
)

// TestLinkWarningBeforeSending checks that the warning about a link that leads to no
// meeting is shown before the job is created.
func TestLinkWarningBeforeSending(t *testing.T) {
	t.Parallel()
	c, stderr := newCLI(t, job.Test), new(lockedBuffer)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !strings.Contains(stderr.String(), "warning: This Zoom link lists telephone ") {
			t.Errorf("the terminal shows %q", stderr.String())
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	defer service.Close()
	c.keep("other", service.URL, c.values["KEY"])
	if code := run(append(wordsOf("jobs create https://zoom.us/u/abc"), c.flags...), io.Discard, stderr); code != exitFailed {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

// TestJobs creates, watches, changes, lists and cancels jobs.
func TestJobs(t *testing.T) {
	t.Parallel()
	c := newCLI(t, job.Test)
	c.values["LONG"] = strings.Repeat("a", 300<<10)
	c.rows(
		row{"status --json", 0, `"ready": true.*"mode": "test"`, ``},
		row{
			"jobs create $MEET --external-id one $FAST --watch", 0,
			`externalId  one.*Starting a bot  \(dispatching\).*Bot joined the meeting.*Recording ready  \(completed\)`, `^Recorded 0:`,
		},
		row{"jobs create $MEET --external-id one --json", 0, `"externalId": "one"`, `already exists`},
		row{
			"jobs create https://zoom.us/u/abc --join-at 2099-01-01T10:00:00Z", 0, ``,
			`^warning: This Zoom link lists telephone numbers\.[^\n]*\n$`,
		},
		row{
			`jobs create $MEET --metadata '{"simulate":{"outcome":"lobby_timeout","speed":100}}' --watch`, exitJobFailed, ``,
			`failed \(lobby_timeout\): `,
		},
		row{"jobs create $MEET --external-id later --join-at 2099-01-01T10:00:00Z --json", 0, `"id": "(?P<ID>[^"]+)"`, ``},
		row{
			`jobs patch $ID --join-at 2099-01-02T10:00:00Z --auto-leave '{"afterSoloSeconds":5}' --json`, 0,
			`"joinAt": "2099-01-02.*"afterSoloSeconds": 5`, ``,
		},
		row{"jobs cancel $ID", 0, `cancelled`, `^$`},
		row{"jobs cancel $ID", 0, `cancelled`, `^already cancelled\n$`},
		row{"jobs get $ID", 0, `cancelled`, ``},
		row{
			"jobs list --status cancelled", 0,
			`^ID +TITLE +STATUS +OUTCOME [^\n]*\n(?P<SHORT>[0-9a-f]{8})  Google Meet abc-defg-hij  cancelled  The job was cancelled [^\n]*\n$`, ``,
		},
		row{"jobs get $SHORT", 0, `$ID`, ``},
		row{"jobs get later", 0, `$ID`, ``},
		row{"jobs get 123", exitNotFound, ``, `"123" is not the ID or the external ID of one job\n.*jobs list`},
		row{
			"jobs create meet.google.com/abc-defg-hij --join-at 2099-01-01T10:00:00Z --captions on --no-chat --webhook http://10.0.0.5 --json", 0,
			`"id": "(?P<ID>[^"]+)".*"meetingUrl": "$MEET"`, `warning: 10\.0\.0\.5 is not a public address`,
		},
		row{"jobs get $ID --json", 0, `"captions": \{\s*"enabled": true\s*\},\s*"chat": false`, ``},
		row{"jobs leave $ID", exitFailed, ``, `invalid_state`},
		row{"jobs create nonsense", exitFailed, ``, `: Invalid meetingUrl: must be an absolute http or https URL with a host\.\n$`},
		row{"jobs create $MEET --name $LONG --join-at 2099-01-01T10:00:00Z --json", 0, `"id": "(?P<ID>[^"]+)"`, ``},
		row{"api GET jobs/$ID/settings", 0, `"displayName":"a{1,1000}"`, ``},
		row{"jobs create", exitUsage, ``, `Run standin jobs create --help`},
		row{"jobs get $UNKNOWN", exitNotFound, ``, `standin jobs list`},
		row{"usage", 0, `.`, ``},
	)
}

// TestControlCommands queues every bot command during a recording.
func TestControlCommands(t *testing.T) {
	t.Parallel()
	c := newCLI(t, job.Test)
	c.rows(row{`jobs create $MEET --metadata '{"simulate":{"outcome":"slow_meeting","seconds":600}}' --json`, 0, `"id": "(?P<ID>[^"]+)"`, ``})
	c.await("jobs get $ID --json", `"status": "recording_started"`)
	for _, verb := range []string{"pause $ID", "resume $ID", "chat $ID hello", "pin $ID p-1", "ask $ID", "stop $ID", "leave $ID"} {
		c.rows(row{"jobs " + verb, 0, `^[0-9a-f-]{36}\n$`, ``})
	}
	c.rows(row{"jobs watch $ID", 0, `completed`, ``})
}

// TestRecordings sends requests to the API, and lists and deletes recordings.
func TestRecordings(t *testing.T) {
	t.Parallel()
	c := newCLI(t, job.Test)
	c.rows(
		row{
			`api post jobs -F externalId=one -F meetingUrl=$MEET -F 'autoLeave={"afterSoloSeconds":5}' -F 'simulate={"speed":100}'`, 0,
			`"id":"(?P<ID>[^"]+)".*"afterSoloSeconds":5`, ``,
		},
		row{"jobs watch $ID", 0, ``, `^Recorded 0:.*standin recordings download $ID · $BASE/jobs/$ID\n$`},
		row{"api GET /api/v1/jobs?externalId=one -F limit=1", 0, `$ID`, ``},
		row{"api GET nowhere", exitNotFound, `not_found`, `404`},
		row{"recordings list", 0, `$ID`, ``},
		row{"jobs events $ID --output yaml", 0, `kind: manifest\.finalized`, ``},
		row{"jobs deliveries $ID", 0, `^WHEN `, ``},
		row{"jobs rerun $ID --join-at 'tomorrow 10:00'", 0, `status      scheduled`, ``},
		row{"recordings delete $ID", exitFailed, ``, `--yes`},
		row{"recordings delete $ID --yes", 0, ``, ``},
		row{"recordings transcript $ID", exitNotFound, ``, `has no transcript.*standin jobs events`},
		row{"recordings download $ID", exitNotFound, ``, `has no recording; its status is completed`},
		row{"recordings download $UNKNOWN", exitNotFound, ``, `standin jobs list`},
	)
}
