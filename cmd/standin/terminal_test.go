package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
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

// checkHarmless fails the test if an output has a hostile character.
func checkHarmless(t *testing.T, output string) {
	t.Helper()
	if i := strings.IndexAny(strings.NewReplacer("\n", "", "\t", "").Replace(output), hostileCharacters()); i >= 0 ||
		!utf8.ValidString(output) {
		t.Errorf("the output contains a hostile character: %q", output)
	}
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
		case strings.Contains(r.URL.Path, "/01a1ff00"):
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": "not_found", "message": hostile})
		case strings.HasSuffix(r.URL.Path, "/jobs"):
			_ = json.NewEncoder(w).Encode(map[string]any{"jobs": []any{found}, "nextCursor": nil})
		default:
			_ = json.NewEncoder(w).Encode(found)
		}
	}))
	t.Cleanup(server.Close)
	config := t.TempDir()
	c := &cli{t, []string{"--config-dir", config}, map[string]string{"CONFIG": config}}
	c.keep("", server.URL, "key")
	for _, line := range []string{"jobs get 7", "jobs get 7 --json", "jobs list", "jobs list --json"} {
		out := c.row(row{line, 0, `safe`, ``})
		checkHarmless(t, out)
		var shown map[string]any
		if line == "jobs get 7 --json" && (json.Unmarshal([]byte(out), &shown) != nil || shown["externalId"] != hostile ||
			shown["joinAt"] != found["joinAt"]) {
			t.Errorf("the JSON output does not have the same text: %q, %q", shown["externalId"], shown["joinAt"])
		}
	}
	_, _, stderr := command(append(wordsOf("jobs get 01a1ff00-0000-7000-8000-000000000000"), c.flags...)...)
	if checkHarmless(t, stderr); !strings.Contains(stderr, "safe") {
		t.Errorf("the error is %q", stderr)
	}
}

// FuzzTerminal checks that no bytes make an output hostile, and that ordinary text is
// unchanged.
func FuzzTerminal(f *testing.F) {
	f.Add([]byte("a\x9b31mb Zoë\tصباح 🎉\n"))
	f.Add([]byte(hostileCharacters()))
	f.Fuzz(func(t *testing.T, text []byte) {
		var out bytes.Buffer
		if n, err := (escapingWriter{&out}).Write(text); err != nil || n != len(text) {
			t.Fatalf("wrote %d of %d bytes, %v", n, len(text), err)
		}
		checkHarmless(t, out.String())
		if utf8.Valid(text) && !strings.ContainsAny(string(text), hostileCharacters()) && out.String() != string(text) {
			t.Errorf("%q became %q", text, out.String())
		}
	})
}
