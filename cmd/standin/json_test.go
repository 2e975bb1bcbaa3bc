package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestJSON: keys and consumers are told to programs too, and the webhook secret
// only when it is asked for.
func TestJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	read := func(into any, args ...string) string {
		t.Helper()
		var out, told bytes.Buffer
		if code := run(append(args, "--data-dir", dir), &out, &told); code != 0 {
			t.Fatalf("%q ended with %d: %s", args, code, told.String())
		}
		if into != nil {
			if err := json.Unmarshal(out.Bytes(), into); err != nil {
				t.Fatalf("%q: %v: %s", args, err, out.String())
			}
		}
		return out.String()
	}
	made := strings.TrimSpace(read(nil, "keys", "create", "--consumer", "ada", "--email", "ada@example.test", "--test"))
	var keys []shownKey
	if read(&keys, "keys", "list", "--json"); len(keys) != 1 || keys[0].Consumer != "ada" || keys[0].Mode != "test" || !strings.HasPrefix(made, keys[0].Prefix) || keys[0].LastUsedAt != nil || keys[0].RevokedAt != nil {
		t.Errorf("keys are %+v", keys)
	}
	var consumers []shownConsumer
	if out := read(&consumers, "consumers", "list", "--json"); len(consumers) != 1 || consumers[0].Email != "ada@example.test" || strings.Contains(out, "whsec_") {
		t.Errorf("consumers are %s", out)
	}
	var one shownConsumer
	if read(&one, "consumers", "show", "ada", "--json"); one.ID != consumers[0].ID || one.WebhookSecret != "" || one.RetentionSeconds != nil {
		t.Errorf("the consumer is %+v", one)
	}
	if read(&one, "consumers", "show", "ada", "--json", "--secret"); !strings.HasPrefix(one.WebhookSecret, "whsec_") {
		t.Errorf("the secret is %q", one.WebhookSecret)
	}
}
