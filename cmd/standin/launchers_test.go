package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"standin/deploy"
)

// TestBotNeedsItsConfiguration: without --config, four flags are required.
func TestBotNeedsItsConfiguration(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		arguments []string
		code      int
		want      string
	}{
		{[]string{"bot"}, 1, "a bot needs --config, or --job, --token-file, --service-url and --meeting-url"},
		{[]string{"bot", "--token-file", token, "--service-url", "http://127.0.0.1:1"}, 1, "a bot needs --config"},
		{[]string{"bot", "--config", token + ".missing"}, 2, "--config"},
		{[]string{"bot", "--config", token}, 1, "read the bot's configuration"},
	} {
		var out, errOut bytes.Buffer
		if code := run(test.arguments, &out, &errOut); code != test.code || !strings.Contains(errOut.String(), test.want) {
			t.Errorf("%v ended with %d: %s", test.arguments, code, errOut.String())
		}
	}
}

// TestSeccompProfile: bots run under the embedded profile unless the operator
// chooses another one.
func TestSeccompProfile(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"": deploy.SeccompProfile(), "embedded": deploy.SeccompProfile(), "engine": ""} {
		var serve serveCommand
		arguments := []string{}
		if value != "" {
			arguments = []string{"--docker-seccomp", value}
		}
		parse(t, &serve, arguments...)
		if settings, err := serve.Docker.settings(); err != nil || settings.Seccomp != want {
			t.Errorf("%q: a profile of %d bytes (%v), want %d", value, len(settings.Seccomp), err, len(want))
		}
	}
	if _, err := (dockerFlags{Seccomp: "/missing", Memory: "0", Shm: "0", Tmp: "0"}).settings(); err == nil {
		t.Error("a missing file was accepted")
	}
	if !json.Valid([]byte(deploy.SeccompProfile())) {
		t.Error("the embedded profile is not JSON")
	}
}

func TestQuantities(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]float64{"0": 0, "1073741824": 1 << 30, "3Gi": 3 << 30, "256Mi": 256 << 20, "1G": 1e9, "500m": 0.5, "1.5": 1.5} {
		if got, err := parseQuantity("docker-memory", value); err != nil || got.AsApproximateFloat64() != want {
			t.Errorf("%s is %v (%v), want %v", value, got, err, want)
		}
	}
	for _, value := range []string{"", "much", "-1", "3GB", "1x"} {
		if _, err := parseQuantity("docker-memory", value); err == nil || !strings.Contains(err.Error(), "--docker-memory") {
			t.Errorf("%q was accepted: %v", value, err)
		}
	}
}

// TestEngineFlags checks that serve reports all invalid launcher flags at once.
func TestEngineFlags(t *testing.T) {
	t.Parallel()
	var out, stderr bytes.Buffer
	code := run([]string{
		"serve", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--launcher", "docker", "--docker-memory", "lots", "--kubernetes-spool", "more",
	}, &out, &stderr)
	if code != 1 || !strings.Contains(stderr.String(), "--docker-memory") || !strings.Contains(stderr.String(), "--kubernetes-spool") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}
