package dispatch

import "testing"

// TestAsksFirst holds metadata, which are the consumer's own and may be
// anything, against the one wish that bots obey.
func TestAsksFirst(t *testing.T) {
	t.Parallel()
	for metadata, want := range map[string]bool{
		`{"recordingPermission": "required"}`:         true,
		`{"a": 1, "recordingPermission": "required"}`: true,
		`{"recordingPermission": "Required"}`:         false,
		`{"recordingPermission": true}`:               false,
		`{"recordingPermission": {"required": true}}`: false,
		`{"a": {"recordingPermission": "required"}}`:  false,
		`{}`: false, ``: false, `null`: false, `[1]`: false,
	} {
		if got := asksFirst([]byte(metadata)); got != want {
			t.Errorf("metadata %s: asks first is %v, want %v", metadata, got, want)
		}
	}
}
