package zoomstream_test

import (
	"strings"
	"testing"
	"time"

	"standin/internal/jobs/zoomstream"
)

// TestVerify checks Zoom's signature. The right one is that of openssl: printf 'v0:1795179600:{}' | openssl dgst -sha256 -hmac secret.
func TestVerify(t *testing.T) {
	t.Parallel()
	at := time.Unix(1795179600, 0)
	const signature = "v0=acc30087e07ee722c071ed8efa3bcc1deddcf6efba5ae9c66972993653e4bb0e"
	for name, c := range map[string]struct {
		token, timestamp, signature, body string
		now                               time.Time
		valid                             bool
	}{
		"valid":             {"secret", "1795179600", signature, "{}", at.Add(4 * time.Minute), true},
		"too old":           {"secret", "1795179600", signature, "{}", at.Add(6 * time.Minute), false},
		"from the future":   {"secret", "1795179600", signature, "{}", at.Add(-6 * time.Minute), false},
		"another token":     {"public", "1795179600", signature, "{}", at, false},
		"another body":      {"secret", "1795179600", signature, "[]", at, false},
		"another time":      {"secret", "1795179601", signature, "{}", at, false},
		"no time":           {"secret", "", signature, "{}", at, false},
		"without a version": {"secret", "1795179600", strings.TrimPrefix(signature, "v0="), "{}", at, false},
	} {
		if valid := zoomstream.Verify(c.token, c.timestamp, c.signature, []byte(c.body), c.now); valid != c.valid {
			t.Errorf("%s: %t", name, valid)
		}
	}
}

// FuzzParse checks that an event is refused or has bounded fields, and that a stream has an ID and a link.
func FuzzParse(f *testing.F) {
	f.Add(`{"event":"meeting.rtms_started","payload":{"meeting_uuid":"u","meeting_id":123,"rtms_stream_id":"s","server_urls":"wss://x"}}`)
	f.Add(`{"event":"session.rtms_started","payload":{"object":{"session_id":"u","id":"0","rtms_stream_id":"s"}}}`)
	f.Add(`{"event":"meeting.rtms_stopped","payload":{"rtms_stream_id":"s","stop_reason":8}}`)
	f.Add(`{"event":"endpoint.url_validation","payload":{"plainToken":"t"}}`)
	f.Fuzz(func(t *testing.T, body string) {
		e, err := zoomstream.Parse([]byte(body))
		if err != nil {
			return
		}
		if e.Kind == zoomstream.Started && (e.Stream.ID == "" || e.Stream.MeetingUUID == "" || !strings.HasPrefix(e.Stream.Link(), "https://zoom.us/j/")) {
			t.Errorf("%q: %+v", body, e)
		}
		if len(e.Stream.ID)+len(e.Stream.ServerURLs)+len(e.PlainToken) > 6000 {
			t.Errorf("%d bytes are read from %d", len(e.Stream.ID), len(body))
		}
	})
}
