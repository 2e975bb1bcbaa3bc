package confine_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/base/confine"
)

// TestConfinedProgramThatReachesMore runs a shell that attempts to leave its limits.
func TestConfinedProgramThatReachesMore(t *testing.T) {
	t.Parallel()
	if confine.Version() == 0 {
		t.Skip("this kernel has no Landlock")
	}
	// Confined programs may not use /tmp here.
	data, err := os.MkdirTemp("/var/tmp", "standin-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	own, input, secret := filepath.Join(data, "own"), filepath.Join(data, "input"), filepath.Join(data, "ingest.key")
	for _, folder := range []string{own, input} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{secret, filepath.Join(input, "media"), filepath.Join(own, "config")} {
		if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })

	tests := map[string]struct {
		script  string
		allowed bool
	}{
		"reads its own folder": {"cat " + own + "/config", true},
		"writes its own folder": {
			"mkdir " + own + "/sub && echo x >" + own + "/sub/file && mv " + own + "/sub/file " + own + "/file", true,
		},
		"reads its input":                      {"cat " + input + "/media", true},
		"reads the system's files":             {"cat /etc/passwd", true},
		"writes devices":                       {"echo x >/dev/null", true},
		"writes its input":                     {"echo x >" + input + "/media", false},
		"reads a secret beside its folder":     {"cat " + secret, false},
		"lists the folder of the service":      {"ls " + data, false},
		"replaces a file of the service":       {"mv " + own + "/config " + secret, false},
		"reads a home folder":                  {"ls /root", false},
		"writes the system's files":            {"echo x >/etc/standin-test", false},
		"looks into a process":                 {fmt.Sprintf("readlink /proc/%d/exe", other.Process.Pid), false},
		"ends a process that it did not start": {fmt.Sprintf("kill -0 %d", other.Process.Pid), false},
		"child reads a secret":                 {"sh -c 'cat " + secret + "'", false},
		"lists the secrets of containers":      {"ls /run", false},
		"connects to a server":                 {"exec 3<>/dev/tcp/127.0.0.1/" + port, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var output strings.Builder
			command := exec.Command("bash", "-c", test.script)
			command.Stdout, command.Stderr = &output, &output
			err := confine.Start(command, confine.Access{
				Read: []string{input, filepath.Join(data, "missing")}, Write: []string{own}, NoSockets: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Wait(); (err == nil) != test.allowed {
				t.Errorf("%s: %v: %s", test.script, err, output.String())
			}
		})
	}
	if content, err := os.ReadFile(secret); err != nil || string(content) != "content" {
		t.Errorf("this process is limited too, or the secret has changed: %q, %v", content, err)
	}
}
