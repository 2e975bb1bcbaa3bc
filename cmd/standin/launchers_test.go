package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

// TestEngineFlags checks the units of launcher flags, and that invalid ones are usage
// errors.
func TestEngineFlags(t *testing.T) {
	t.Parallel()
	var serve serveCommand
	parse(t, &serve, "--docker-memory=512Mi", "--docker-tmp=0", "--kubernetes-cpu-limit=500m", "--kubernetes-shm=0")
	if limits := serve.Docker.Limits; limits.MemoryBytes != 512<<20 || limits.ShmBytes != 1<<30 || limits.TmpBytes != 0 {
		t.Errorf("limits in Docker: %+v", limits)
	}
	if r := serve.Kubernetes.Resources; r.CPULimit.MilliValue() != 500 || r.MemoryLimit.String() != "3Gi" || !r.Shm.IsZero() {
		t.Errorf("resources in Kubernetes: %+v", r)
	}
	for flag, values := range map[string][]string{"--docker-memory": {"", "much", "-1", "3GB", "1x", "Gi"}, "--kubernetes-spool": {"", "much", "3GB", "Gi", "m"}} {
		for _, value := range values {
			if err := tryParse(t, new(serveCommand), []string{flag + "=" + value}); err == nil || !strings.Contains(err.Error(), flag) {
				t.Errorf("%s=%q was accepted: %v", flag, value, err)
			}
		}
	}
}
