package ingest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
)

var jobID = uuid.MustParse("0193a1b2-0000-7000-8000-000000000001")

// TestToken checks the token of a bot against the specification, and that no other token is
// that of the bot. The hex digits have no case.
func TestToken(t *testing.T) {
	t.Parallel()
	key := []byte("signing key")
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(jobID.String() + ":12"))
	token := ingest.Token(key, jobID.String(), 12)
	if want := hex.EncodeToString(mac.Sum(nil)); token != want {
		t.Fatalf("got %s, want %s", token, want)
	}
	for name, test := range map[string]struct {
		key     string
		job     uuid.UUID
		attempt int
		token   string
		valid   bool
	}{
		"the bot":         {"signing key", jobID, 12, token, true},
		"upper case":      {"signing key", jobID, 12, strings.ToUpper(token), true},
		"another attempt": {"signing key", jobID, 1, token, false},
		"another job":     {"signing key", uuid.New(), 12, token, false},
		"another key":     {"another", jobID, 12, token, false},
		"empty":           {"signing key", jobID, 12, "", false},
		"cut short":       {"signing key", jobID, 12, token[:63], false},
		"extended":        {"signing key", jobID, 12, token + "0", false},
	} {
		bot, valid := ingest.Authenticate([]byte(test.key), test.job, test.attempt, test.token)
		if valid != test.valid || valid && (bot.JobID() != jobID || bot.Attempt() != 12) || !valid && bot != (ingest.Bot{}) {
			t.Errorf("%s: %v %v", name, bot, valid)
		}
	}
}

// TestParseEventData: keys of another type are ignored, and do not affect others.
func TestParseEventData(t *testing.T) {
	t.Parallel()
	yes := true
	tests := map[string]struct {
		data string
		want ingest.EventData
	}{
		"all": {`{"failureCode":"a","failureDetail":"b","granted":true,"outcome":"c","detail":"d","detectedBotName":"e","leftMeeting":true,"manifestUri":"f","endReason":"g","more":1}`,
			ingest.EventData{
				FailureCode: "a", FailureDetail: "b", Granted: &yes, Outcome: "c", Detail: "d", DetectedBotName: "e", LeftMeeting: &yes,
				ManifestURI: "f", EndReason: "g",
			}},
		"some of another type": {`{"failureCode":7,"granted":"yes","leftMeeting":[],"detail":"d","outcome":{}}`, ingest.EventData{Detail: "d"}},
		"null":                 {`{"granted":null,"detail":null}`, ingest.EventData{}},
		"other capitals":       {`{"FailureCode":"a"}`, ingest.EventData{}},
		"no object":            {`["failureCode"]`, ingest.EventData{}},
		"empty":                {``, ingest.EventData{}},
		"no JSON":              {`{"failureCode":`, ingest.EventData{}},
	}
	for name, test := range tests {
		if got := ingest.ParseEventData(json.RawMessage(test.data)); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// TestSegmentNames: names can be parsed, sort in the order of recording, and are
// valid for uploads.
func TestSegmentNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part, sequence := rapid.IntRange(0, 999).Draw(t, "part"), rapid.IntRange(0, 999_999).Draw(t, "sequence")
		other, otherSequence := rapid.IntRange(0, 999).Draw(t, "other"), rapid.IntRange(0, 999_999).Draw(t, "other sequence")
		name := ingest.SegmentName(part, sequence)
		if s, n, ok := ingest.ParseSegmentName(name); !ok || s != part || n != sequence || !ingest.ValidMediaName(name) {
			t.Fatalf("%s is parsed as %d, %d (%v)", name, s, n, ok)
		}
		earlier := part < other || part == other && sequence < otherSequence
		if (name < ingest.SegmentName(other, otherSequence)) != earlier {
			t.Fatalf("%s and %s sort in the wrong order", name, ingest.SegmentName(other, otherSequence))
		}
	})
	for _, name := range []string{
		"", "recording-0-0.mp4s", "recording-000-000000.mp4", "xrecording-000-000000.mp4s", "recording-000-000000.mp4s\n",
		"recording-000-00000a.mp4s",
	} {
		if _, _, ok := ingest.ParseSegmentName(name); ok {
			t.Errorf("%q is parsed as a segment", name)
		}
	}
}

func TestValidMediaName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		ingest.ReportName: true, "recording.mp4": true, "a": true, "0-b_c.d": true, strings.Repeat("a", 100): true,
		"": false, ".": false, "..": false, ".hidden": false, "../x": false, "a/b": false, `a\b`: false, "A": false, "a b": false,
		"a\x00": false, "a\n": false, "ä": false, strings.Repeat("a", 101): false,
	} {
		if got := ingest.ValidMediaName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// TestReportJSON: unset times are omitted.
func TestReportJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	report := ingest.Report{Attempt: 1, JoinedAt: at, Parts: []ingest.RecordingPart{{StartedAt: at, Segments: 3}}}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"attempt":1,"botVersion":"","joinedAt":"2026-11-20T10:00:00Z","stretches":[{"number":0,"startedAt":"2026-11-20T10:00:00Z","segments":3,"complete":false}]}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	var back ingest.Report
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, report) {
		t.Errorf("decoded as %+v (%v)", back, err)
	}
}
