package dispatch

import "testing"

// TestRequiresPermission uses metadata of every shape, because consumers may store
// any JSON in it.
func TestRequiresPermission(t *testing.T) {
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
		if got := requiresPermission([]byte(metadata)); got != want {
			t.Errorf("metadata %s: got %v, want %v", metadata, got, want)
		}
	}
}
