package deploy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"standin/deploy"
	"standin/internal/bot/browser"
)

// TestChromiumSandboxInContainer runs Chromium in a container with the embedded
// seccomp profile, without capabilities and with no-new-privileges, as an
// unprivileged user. Its renderers have their own process namespace and system call
// filter, and the profile refuses what bots do not need.
func TestChromiumSandboxInContainer(t *testing.T) {
	t.Parallel()
	needRoot(t, "runc")
	chromium, err := browser.Find("")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	bundle := t.TempDir()
	for _, dir := range []string{"bin", "lib", "lib64", "sbin"} {
		if err := os.MkdirAll(filepath.Join(bundle, "rootfs"), 0o755); err != nil { //nolint:gosec // read by another user
			t.Fatal(err)
		}
		if err := os.Symlink("usr/"+dir, filepath.Join(bundle, "rootfs", dir)); err != nil {
			t.Fatal(err)
		}
	}
	name := fmt.Sprintf("standin-test-%d", os.Getpid())
	config, err := json.Marshal(containerConfig(t, name, fmt.Sprintf(sandboxScript, chromium)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "runc", "--root", t.TempDir(), "run", "--bundle", bundle, name).CombinedOutput()
	text := string(out)
	if err != nil {
		t.Fatalf("runc: %v: %s", err, text)
	}
	if !strings.Contains(text, "profile active") {
		t.Errorf("the profile does not refuse mount: %s", text)
	}
	if !strings.Contains(text, "renderer sandboxed") {
		t.Errorf("the renderer has no sandbox: %s", text)
	}
}

// sandboxScript reports whether the profile refuses to mount, which the user could do
// in an own namespace, and whether a renderer has the system call filter of Chromium
// in a nested process namespace (proc(5), /proc/pid/status).
const sandboxScript = `
own="unshare --user --map-root-user --mount --propagation unchanged"
$own true && ! $own mount -t tmpfs none /mnt 2>/dev/null && echo profile active
%s --headless=new --disable-gpu --no-first-run --user-data-dir=/tmp/profile --remote-debugging-port=0 about:blank >/tmp/log 2>&1 &
for i in $(seq 100); do
	for process in /proc/[0-9]*; do
		grep -qsa -e --type=renderer $process/cmdline || continue
		grep -q '^Seccomp:.2' $process/status && grep -qE '^NSpid:(.[0-9]+){2,}' $process/status && echo renderer sandboxed && exit 0
	done
	sleep 0.2
done
cat /tmp/log`

// containerConfig returns the configuration of a container that runs a shell script,
// in the form of https://github.com/opencontainers/runtime-spec.
func containerConfig(t *testing.T, name, script string) map[string]any {
	t.Helper()
	const nobody = 65534
	var profile map[string]any
	if err := json.Unmarshal([]byte(deploy.SeccompProfile()), &profile); err != nil {
		t.Fatal(err)
	}
	for _, rule := range profile["syscalls"].([]any) {
		delete(rule.(map[string]any), "comment") // only Docker's form has it
	}
	var namespaces []map[string]string
	for _, kind := range []string{"pid", "ipc", "uts", "mount"} {
		namespaces = append(namespaces, map[string]string{"type": kind})
	}
	mounts := []map[string]any{
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755"}},
		{"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": []string{"mode=1777"}},
		{"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": []string{"mode=1777"}},
		{"destination": "/mnt", "type": "tmpfs", "source": "tmpfs", "options": []string{"mode=1777"}},
	}
	for _, dir := range []string{"/usr", "/etc"} {
		mounts = append(mounts, map[string]any{"destination": dir, "type": "bind", "source": dir, "options": []string{"rbind", "ro"}})
	}
	return map[string]any{
		"ociVersion": "1.0.2", "hostname": "bot", "mounts": mounts,
		"root": map[string]any{"path": "rootfs"},
		"process": map[string]any{
			"user": map[string]int{"uid": nobody, "gid": nobody}, "args": []string{"/bin/sh", "-c", script}, "cwd": "/tmp",
			"env":             []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp"},
			"noNewPrivileges": true, "capabilities": map[string]any{},
		},
		"linux": map[string]any{"namespaces": namespaces, "seccomp": profile, "cgroupsPath": "/" + name},
	}
}
