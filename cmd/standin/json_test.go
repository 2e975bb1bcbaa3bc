package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestJSONOutput checks that --json prints valid JSON with the same content as the text output.
func TestJSONOutput(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	asJSON := func(args ...string) map[string]any {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(append(args, "--json"), &stdout, &stderr); code != 0 {
			t.Fatalf("standin %q ends with %d: %s", args, code, stderr.String())
		}
		var value map[string]any
		if err := json.Unmarshal(stdout.Bytes(), &value); err != nil {
			t.Fatalf("standin %q prints %q: %v", args, stdout.String(), err)
		}
		return value
	}
	created := asJSON("keys", "create", "--consumer", "acme", "--test", "--data-dir", dir)
	key, _ := created["key"].(string)
	id, _ := created["id"].(string)
	if len(key) < 40 || id == "" || created["mode"] != "test" {
		t.Errorf("keys create: %v", created)
	}
	if revoked := asJSON("keys", "revoke", id, "--data-dir", dir); revoked["revoked"] != true || revoked["id"] != id {
		t.Errorf("keys revoke: %v", revoked)
	}
	if shown := asJSON("consumers", "show", "acme", "--data-dir", dir); shown["name"] != "acme" {
		t.Errorf("consumers show: %v", shown)
	}
	if stderr := asJSON("version"); stderr["version"] == "" {
		t.Errorf("version: %v", stderr)
	}
	config := t.TempDir()
	if err := saveCredentials(config, credentials{URL: "http://127.0.0.1:1", APIKey: key}); err != nil {
		t.Fatal(err)
	}
	if stderr := asJSON("logout", "--config-dir", config); stderr["signedOut"] != true {
		t.Errorf("logout: %v", stderr)
	}
}
