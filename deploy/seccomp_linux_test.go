package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"standin/deploy"
	"standin/internal/testing/testbrowser"
)

// TestChromiumSandboxInContainer runs Chromium in a container with the embedded
// seccomp profile, without capabilities and with no-new-privileges, as an
// unprivileged user. Its renderers have their own process namespace and system call
// filter, and the profile refuses what bots do not need.
func TestChromiumSandboxInContainer(t *testing.T) {
	t.Parallel()
	chromium := testbrowser.Full(t)
	needRoot(t, "runc")
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
	config := fmt.Sprintf(container, fmt.Sprintf(sandboxScript, chromium), deploy.SeccompProfile(), "/"+name)
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), []byte(config), 0o600); err != nil {
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

// container is the configuration of a container that runs a shell script as nobody, with a profile
// and a control group, in the form of https://github.com/opencontainers/runtime-spec.
const container = `{
	"ociVersion": "1.0.2", "hostname": "bot", "root": {"path": "rootfs"},
	"mounts": [
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
		{"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["mode=1777"]},
		{"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]},
		{"destination": "/mnt", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]},
		{"destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]},
		{"destination": "/etc", "type": "bind", "source": "/etc", "options": ["rbind", "ro"]}
	],
	"process": {
		"user": {"uid": 65534, "gid": 65534}, "args": ["/bin/sh", "-c", %q], "cwd": "/tmp", "env": ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp"],
		"noNewPrivileges": true, "capabilities": {}
	},
	"linux": {"namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}], "seccomp": %s, "cgroupsPath": %q}
}`
