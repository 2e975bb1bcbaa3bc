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

	"standin/internal/ingest"
)

const jobID = "0193a1b2-0000-7000-8000-000000000001"

// TestToken is the specification's, to the letter: hex HMAC-SHA256 over
// <jobId>:<attempt>.
func TestToken(t *testing.T) {
	t.Parallel()
	key := []byte("signing key")
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(jobID + ":12"))
	token := ingest.Token(key, jobID, 12)
	if want := hex.EncodeToString(mac.Sum(nil)); token != want {
		t.Fatalf("got %s, want %s", token, want)
	}
	if !ingest.ValidToken(key, jobID, 12, token) {
		t.Error("its own token is refused")
	}
	for name, valid := range map[string]bool{
		"another attempt": ingest.ValidToken(key, jobID, 1, token),
		"another job":     ingest.ValidToken(key, strings.Replace(jobID, "1", "2", 1), 12, token),
		"another key":     ingest.ValidToken([]byte("another"), jobID, 12, token),
		"nothing":         ingest.ValidToken(key, jobID, 12, ""),
		"cut short":       ingest.ValidToken(key, jobID, 12, token[:63]),
		"and more":        ingest.ValidToken(key, jobID, 12, token+"0"),
	} {
		if valid {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestReadEventData: keys of another type count as unknown, and take none of
// the others with them.
func TestReadEventData(t *testing.T) {
	t.Parallel()
	yes := true
	tests := map[string]struct {
		data string
		want ingest.EventData
	}{
		"all": {`{"failureCode":"a","failureDetail":"b","granted":true,"outcome":"c","detail":"d","detectedBotName":"e","leftMeeting":true,"manifestUri":"f","endReason":"g","more":1}`,
			ingest.EventData{FailureCode: "a", FailureDetail: "b", Granted: &yes, Outcome: "c", Detail: "d", DetectedBotName: "e", LeftMeeting: &yes, ManifestURI: "f", EndReason: "g"}},
		"some of another type": {`{"failureCode":7,"granted":"yes","leftMeeting":[],"detail":"d","outcome":{}}`, ingest.EventData{Detail: "d"}},
		"null":                 {`{"granted":null,"detail":null}`, ingest.EventData{}},
		"other capitals":       {`{"FailureCode":"a"}`, ingest.EventData{}},
		"no object":            {`["failureCode"]`, ingest.EventData{}},
		"nothing":              {``, ingest.EventData{}},
		"no JSON":              {`{"failureCode":`, ingest.EventData{}},
	}
	for name, test := range tests {
		if got := ingest.ParseEventData(json.RawMessage(test.data)); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// TestSegmentNames can be read back, sort in the order of recording, and may be
// uploaded.
func TestSegmentNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stretch, sequence := rapid.IntRange(0, 999).Draw(t, "stretch"), rapid.IntRange(0, 999_999).Draw(t, "sequence")
		other, otherSequence := rapid.IntRange(0, 999).Draw(t, "other"), rapid.IntRange(0, 999_999).Draw(t, "other sequence")
		name := ingest.SegmentName(stretch, sequence)
		if s, n, ok := ingest.ParseSegmentName(name); !ok || s != stretch || n != sequence || !ingest.ValidMediaName(name) {
			t.Fatalf("%s is read as %d, %d (%v)", name, s, n, ok)
		}
		earlier := stretch < other || stretch == other && sequence < otherSequence
		if (name < ingest.SegmentName(other, otherSequence)) != earlier {
			t.Fatalf("%s sorts wrongly against %s", name, ingest.SegmentName(other, otherSequence))
		}
	})
	for _, name := range []string{"", "recording-0-0.mp4s", "recording-000-000000.mp4", "xrecording-000-000000.mp4s", "recording-000-000000.mp4s\n", "recording-000-00000a.mp4s"} {
		if _, _, ok := ingest.ParseSegmentName(name); ok {
			t.Errorf("%q is taken for a segment", name)
		}
	}
}

// TestValidMediaName: plain file names alone.
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

// TestReportOnTheWire: what did not happen is left out, and comes back as that.
func TestReportOnTheWire(t *testing.T) {
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
		t.Errorf("it comes back as %+v (%v)", back, err)
	}
}
