package deploy_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// debian is a Debian system that runs with systemd in its own namespaces and in the
// network of this machine.
type debian struct {
	*testing.T
	dir     string // its root
	systemd string // process ID, for nsenter
}

// bootScript starts systemd in the root $1, in new namespaces. The kernel's settings
// are read-only, so that it does not change this machine's.
const bootScript = `
root=$1
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for device in null zero full random urandom tty; do cp -a "/dev/$device" "$root/dev/$device"; done
cd "$root"
mkdir old
pivot_root . old
exec chroot . sh -c 'umount -l /old && exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=multi-user.target --log-target=journal'`

// startDebian starts a system with the packages of the bot image.
func startDebian(t *testing.T) *debian {
	t.Helper()
	d := &debian{T: t, dir: filepath.Join(t.TempDir(), "root")}
	archive := d.archive()
	if err := os.Mkdir(d.dir, 0o755); err != nil { //nolint:gosec // a root directory
		t.Fatal(err)
	}
	d.run(exec.CommandContext(t.Context(), "tar", "--extract", "--numeric-owner", "--directory", d.dir, "--file", archive))
	d.write("etc/resolv.conf", string(read(t, "/etc/resolv.conf")))
	boot := exec.CommandContext(t.Context(), "sh", "-ec", `echo $$ >"$0/cgroup.procs" && exec unshare --mount --propagation private --pid --fork --uts --ipc --cgroup --kill-child sh -ec "$1" sh "$2"`,
		d.cgroup(), bootScript, d.dir)
	var log bytes.Buffer
	boot.Stdout, boot.Stderr = &log, &log
	if err := boot.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if pid, err := strconv.Atoi(d.systemd); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the kernel ends the other processes of the namespace first
		} else {
			_ = boot.Process.Kill()
		}
		_ = boot.Wait()
	})
	await(t, "systemd runs", func() bool {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", boot.Process.Pid))
		if err != nil {
			t.Fatalf("systemd did not start: %s", log.Bytes())
		}
		d.systemd = strings.TrimSpace(string(children))
		return d.systemd != "" && d.enter("systemctl", "is-system-running").Run() == nil
	})
	return d
}

// cgroup creates a control group for the system, whose processes systemd groups below
// it.
func (d *debian) cgroup() string {
	d.Helper()
	mounts := strings.Fields(d.run(exec.CommandContext(d.Context(), "findmnt", "--noheadings", "--output", "TARGET", "--types", "cgroup2")))
	dir := filepath.Join(mounts[0], fmt.Sprintf("standin-test-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // as the kernel's
		d.Fatal(err)
	}
	// an empty one that stays uses no resources
	d.Cleanup(func() { _ = exec.Command("find", dir, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").Run() })
	return dir
}

// archive returns a tar file of the root. It is kept for the next run, because
// making it takes minutes.
func (d *debian) archive() string {
	d.Helper()
	packages := append(imagePackages(d.T), "man-db", "procps", "systemd")
	cache, err := os.UserCacheDir()
	if err != nil {
		d.Fatal(err)
	}
	name := fmt.Sprintf("standin-test-%x.tar", sha256.Sum256([]byte(strings.Join(packages, " "))))
	path := filepath.Join(cache, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	d.run(exec.CommandContext(d.Context(), "mmdebstrap", "--variant=minbase", "--include="+strings.Join(packages, ","),
		"--aptopt=APT::Install-Recommends \"false\"", "--dpkgopt=force-unsafe-io", "bookworm", path+".new.tar"))
	if err := os.Rename(path+".new.tar", path); err != nil {
		d.Fatal(err)
	}
	return path
}

// enter returns a command in the system, as root.
func (d *debian) enter(command ...string) *exec.Cmd {
	arguments := []string{"--target", d.systemd, "--mount", "--uts", "--ipc", "--pid", "--cgroup", "--root", "--wd",
		"/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"}
	return exec.CommandContext(d.Context(), "nsenter", append(arguments, command...)...)
}

// do runs a command in the system.
func (d *debian) do(command ...string) string {
	d.Helper()
	return d.run(d.enter(command...))
}

// shows checks that an expression matches the output of a command in the system.
func (d *debian) shows(want string, command ...string) {
	d.Helper()
	if out := d.do(command...); !regexp.MustCompile(want).MatchString(out) {
		d.Errorf("%q shows\n%s\nwant %q", command, out, want)
	}
}

// run runs a command to its end and returns its standard output.
func (d *debian) run(cmd *exec.Cmd) string {
	d.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		d.Errorf("%q: %v\n%s%s", cmd.Args, err, stdout.String(), stderr.String())
		d.FailNow()
	}
	return stdout.String()
}

// write writes a file of the system.
func (d *debian) write(name, content string) {
	d.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as in any system
		d.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil { //nolint:gosec // read by all
		d.Fatal(err)
	}
}

// configure adds settings to those of a unit.
func (d *debian) configure(unit string, settings ...string) {
	d.Helper()
	d.write("etc/"+unit+"-test.env", strings.Join(settings, "\n")+"\n")
	d.write("etc/systemd/system/"+unit+".service.d/test.conf", "[Service]\nEnvironmentFile=/etc/"+unit+"-test.env\n")
}

// install builds a version of the package, installs it with apt-get, and returns what that prints.
func (d *debian) install(version string) string {
	d.Helper()
	build := exec.CommandContext(d.Context(), "scripts/deb.sh", "", version)
	build.Dir = ".."
	d.run(build)
	files, err := filepath.Glob("../bin/standin_" + version + "-1_*.deb")
	if err != nil || len(files) != 1 {
		d.Fatalf("packages: %q (%v)", files, err)
	}
	defer os.Remove(files[0])
	d.write("root/standin.deb", string(read(d.T, files[0])))
	installed := d.do("apt-get", "install", "-y", "-qq", "--no-install-recommends", "-o", "APT::Sandbox::User=root", "/root/standin.deb")
	if got := d.do("dpkg-query", "-W", "-f", "${Version} ${Status}", "standin"); got != version+"-1 install ok installed" {
		d.Fatalf("dpkg: %q", got)
	}
	return installed
}

// mainPID returns the main process of a unit.
func (d *debian) mainPID(unit string) string {
	d.Helper()
	return strings.TrimSpace(d.do("systemctl", "show", "--property=MainPID", "--value", unit))
}
