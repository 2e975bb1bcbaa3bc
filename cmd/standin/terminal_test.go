package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

// hostileCharacters are the characters with which a text can disguise itself or
// the text around it: C0 and C1 controls, bidirectional controls, separators.
func hostileCharacters() string {
	var text strings.Builder
	for _, span := range [][2]rune{{0, 0x1f}, {0x7f, 0x9f}, {0x061c, 0x061c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}} {
		for r := span[0]; r <= span[1]; r++ {
			text.WriteRune(r)
		}
	}
	return text.String()
}

// TestAttackHostileNames prints a job whose texts contain hostile
// characters, as a table and as JSON. Neither output contains one of them, and the
// JSON has the same texts.
func TestAttackHostileNames(t *testing.T) {
	t.Parallel()
	hostile := "safe\x1b]0;title\a\u202etxt.exe" + hostileCharacters()
	found := map[string]any{
		"id": "7", "status": "failed", "platform": "meet", "externalId": hostile, "displayName": hostile,
		"meetingUrl": "https://meet.google.com/" + hostile, "failureCode": hostile, "failureDetail": hostile,
		"metadata": map[string]any{"name": hostile}, "joinAt": "2026-11-20T13:00:00.000Z",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.Contains(r.URL.Path, "/missing"):
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": "not_found", "message": hostile})
		case strings.HasSuffix(r.URL.Path, "/jobs"):
			_ = json.NewEncoder(w).Encode(map[string]any{"jobs": []any{found}})
		default:
			_ = json.NewEncoder(w).Encode(found)
		}
	}))
	t.Cleanup(server.Close)
	config := t.TempDir()
	if err := saveCredentials(config, credentials{URL: server.URL, APIKey: "key"}); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"table": {"jobs", "get", "7"}, "JSON": {"jobs", "get", "7", "--json"},
		"list": {"jobs", "list"}, "list as JSON": {"jobs", "list", "--json"},
		"error": {"jobs", "get", "missing"},
	} {
		var stdout, stderr bytes.Buffer
		command := exec.CommandContext(t.Context(), testedBinary(), append(args, "--config-dir", config)...)
		command.Stdout, command.Stderr = &stdout, &stderr
		err := command.Run()
		printed := stdout.String() + stderr.String()
		if (err == nil) == (name == "error") || !strings.Contains(printed, "safe") {
			t.Fatalf("%s: %v: %s", name, err, printed)
		}
		for _, r := range strings.NewReplacer("\n", "", "\t", "").Replace(printed) {
			if strings.ContainsRune(hostileCharacters(), r) {
				t.Errorf("%s: the output contains %U: %q", name, r, printed)
				break
			}
		}
		if name != "JSON" {
			continue
		}
		var shown map[string]any
		if err := json.Unmarshal(stdout.Bytes(), &shown); err != nil || shown["externalId"] != hostile || shown["joinAt"] != found["joinAt"] {
			t.Errorf("the JSON output does not have the same text: %v, %q, %q", err, shown["externalId"], shown["joinAt"])
		}
	}
}

// TestInvalidTextInTheTerminal checks that bytes which are not UTF-8 do not reach
// the terminal, and that ordinary text is unchanged.
func TestInvalidTextInTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	const text = "Zoë\tصباح 🎉\n"
	if _, err := (escapingWriter{&out}).Write([]byte("a\x9b31mb " + text)); err != nil || out.String() != "a\ufffd31mb "+text {
		t.Errorf("%q, %v", out.String(), err)
	}
}
