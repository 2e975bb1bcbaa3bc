package deploy_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"standin/client"
	"standin/internal/launch"
	"standin/internal/replica"
)

// packagesVariable enables the test of the Debian package (make packages-test).
const packagesVariable = "STANDIN_TEST_PACKAGES"

// packageTimeout bounds every wait of the test of the package.
const packageTimeout = 10 * time.Minute

// directive is a line of a systemd unit.
var directive = regexp.MustCompile(`(?m)^([A-Za-z]+)=(.*)$`)

// unit returns the values of a unit's directives.
func unit(t *testing.T, path string) map[string][]string {
	t.Helper()
	values := make(map[string][]string)
	for _, match := range directive.FindAllStringSubmatch(string(read(t, path)), -1) {
		values[match[1]] = append(values[match[1]], match[2])
	}
	return values
}

// TestUnits verifies the units and their sandboxes with systemd, and the properties
// that bots need.
func TestUnits(t *testing.T) {
	t.Parallel()
	needTool(t, "systemd-analyze")
	dir := t.TempDir()
	// The greatest exposure that systemd-analyze may report, in tenths.
	for name, exposure := range map[string]string{"standin.service": "35", "standin-mail.service": "22"} {
		content := strings.ReplaceAll(string(read(t, "systemd/"+name)), "/usr/bin/standin", os.Args[0]) // it must exist
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", filepath.Join(dir, name)).CombinedOutput()
		if err != nil || strings.Contains(string(out), name) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if out, err = exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold="+exposure,
			filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		values := unit(t, "systemd/"+name)
		for key, want := range map[string]string{"StateDirectoryMode": "0700", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "User": "standin"} {
			if !slices.Equal(values[key], []string{want}) {
				t.Errorf("%s: %s is %q, want %s", name, key, values[key], want)
			}
		}
	}
	service := unit(t, "systemd/standin.service")
	for key, want := range map[string]string{"KillMode": "process", "OOMPolicy": "continue"} { // bots outlive the service
		if !slices.Equal(service[key], []string{want}) {
			t.Errorf("%s is %q, want %s", key, service[key], want)
		}
	}
	for _, key := range []string{"PrivateTmp", "RuntimeDirectory", "MemoryDenyWriteExecute", "RestrictNamespaces"} {
		if service[key] != nil {
			t.Errorf("%s breaks running bots or Chromium", key)
		}
	}
}

// needTool skips a test without a tool, and fails it in CI.
func needTool(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// debianRoot is the root directory of a Debian system, whose programs run in the
// network and the processes of this machine.
type debianRoot struct {
	*testing.T
	dir string
}

// newDebianRoot returns a root with the packages of the bot image.
func newDebianRoot(t *testing.T) debianRoot {
	t.Helper()
	r := debianRoot{t, filepath.Join(t.TempDir(), "root")}
	archive := r.archive()
	if err := os.Mkdir(r.dir, 0o755); err != nil { //nolint:gosec // a root directory
		t.Fatal(err)
	}
	r.do(exec.CommandContext(t.Context(), "tar", "--extract", "--numeric-owner", "--directory", r.dir, "--file", archive))
	if err := os.WriteFile(filepath.Join(r.dir, "etc/resolv.conf"), read(t, "/etc/resolv.conf"), 0o644); err != nil { //nolint:gosec // read by all
		t.Fatal(err)
	}
	t.Cleanup(r.killAll)
	return r
}

// killAll kills the processes that still run in the root, such as bots.
func (r debianRoot) killAll() {
	for running := true; running; {
		running = false
		roots, err := filepath.Glob("/proc/[0-9]*/root")
		if err != nil {
			r.Error(err)
		}
		for _, root := range roots {
			if dir, err := os.Readlink(root); err != nil || dir != r.dir { // an error: it has ended
				continue
			}
			running = true
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(root))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // an error: it has ended
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// archive returns a tar file of the root. It is kept for the next run, because
// making it takes minutes.
func (r debianRoot) archive() string {
	r.Helper()
	packages := append(imagePackages(r.T), "adduser")
	cache, err := os.UserCacheDir()
	if err != nil {
		r.Fatal(err)
	}
	name := fmt.Sprintf("standin-test-%x.tar", sha256.Sum256([]byte(strings.Join(packages, " "))))
	path := filepath.Join(cache, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	r.do(exec.CommandContext(r.Context(), "mmdebstrap", "--variant=minbase", "--include="+strings.Join(packages, ","),
		"--aptopt=APT::Install-Recommends \"false\"", "--dpkgopt=force-unsafe-io", "bookworm", path+".new.tar"))
	if err := os.Rename(path+".new.tar", path); err != nil {
		r.Fatal(err)
	}
	return path
}

// enter runs a command in the root as a user, with private mounts, which end with
// its last process.
func (r debianRoot) enter(user string, environment []string, command ...string) *exec.Cmd {
	script := `mount -t proc proc "$0/proc" && mkdir -p "$0/dev/shm" && mount -t tmpfs -o mode=1777 shm "$0/dev/shm" && user=$1 && shift && exec chroot --userspec="$user" "$0" "$@"`
	arguments := []string{"--mount", "--propagation", "private", "sh", "-ec", script, r.dir, user, "/usr/bin/env", "-i", "PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
	return exec.CommandContext(r.Context(), "unshare", slices.Concat(arguments, environment, command)...)
}

// do runs a command to its end and returns its standard output.
func (r debianRoot) do(cmd *exec.Cmd) string {
	r.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		r.Fatalf("%q: %v\n%s%s", cmd.Args, err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// install builds a version of the package and installs it with apt-get.
func (r debianRoot) install(version string) {
	r.Helper()
	build := exec.CommandContext(r.Context(), "scripts/deb.sh", "", version)
	build.Dir = ".."
	r.do(build)
	files, err := filepath.Glob("../bin/standin_" + version + "_*.deb")
	if err != nil || len(files) != 1 {
		r.Fatalf("packages: %q (%v)", files, err)
	}
	defer os.Remove(files[0])
	if err := os.WriteFile(filepath.Join(r.dir, "root/standin.deb"), read(r.T, files[0]), 0o600); err != nil {
		r.Fatal(err)
	}
	r.do(r.enter("root", []string{"DEBIAN_FRONTEND=noninteractive"},
		"apt-get", "install", "-y", "-qq", "--no-install-recommends", "-o", "APT::Sandbox::User=root", "/root/standin.deb"))
	if got := r.do(r.enter("root", nil, "dpkg-query", "-W", "-f", "${Version} ${Status}", "standin")); got != version+" install ok installed" {
		r.Fatalf("dpkg: %q", got)
	}
}

// environment returns the environment of the unit's processes with more settings.
func (r debianRoot) environment(settings ...string) []string {
	r.Helper()
	values := unit(r.T, filepath.Join(r.dir, "usr/lib/systemd/system/standin.service"))
	all := strings.Fields(strings.Join(values["Environment"], " "))
	file := string(read(r.T, filepath.Join(r.dir, values["EnvironmentFile"][0])))
	return slices.Concat(all, regexp.MustCompile(`(?m)^[A-Z_]+=.*$`).FindAllString(file, -1), settings)
}

// start starts the unit's ExecStart as its user.
func (r debianRoot) start(environment []string, log io.Writer) *exec.Cmd {
	r.Helper()
	values := unit(r.T, filepath.Join(r.dir, "usr/lib/systemd/system/standin.service"))
	cmd := r.enter(values["User"][0]+":"+values["Group"][0], environment, strings.Fields(values["ExecStart"][0])...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = time.Second // bots keep the log open
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	return cmd
}

// stop stops the main process of the unit, as KillMode=process does.
func (r debianRoot) stop(cmd *exec.Cmd) {
	r.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.Fatal(err)
	}
	if err := cmd.Wait(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		r.Fatalf("the service ended with %v", err)
	}
}

// await polls a condition.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), packageTimeout)
	defer cancel()
	for !condition() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited %s until %s", packageTimeout, what)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// imagePackages returns the packages that the Dockerfile installs into the bot image.
func imagePackages(t *testing.T) []string {
	t.Helper()
	var packages []string
	for _, match := range regexp.MustCompile(`install -y --no-install-recommends ([a-z0-9 -]+)`).FindAllStringSubmatch(string(read(t, "Dockerfile")), -1) {
		packages = append(packages, strings.Fields(match[1])...)
	}
	if !slices.Contains(packages, "chromium") {
		t.Fatalf("the Dockerfile installs %q", packages)
	}
	return packages
}

// TestDebianPackage installs the package into a new Debian system that has the
// packages of the bot image, starts the unit's command as its user, and sends a bot
// into a meeting. While the bot records, a rebuilt package is installed and the
// service restarts. The recording is complete.
func TestDebianPackage(t *testing.T) {
	if os.Getenv(packagesVariable) == "" {
		t.Skip("set " + packagesVariable + "=1, or run make packages-test, to install the Debian package into a new system")
	}
	needRoot(t, "mmdebstrap", "unshare")
	r := newDebianRoot(t)
	r.install("0.0.1")
	r.do(r.enter("root", nil, "install", "-d", "-m", "0700", "-o", "standin", "-g", "standin", "/var/lib/standin")) // StateDirectory
	if got := r.do(r.enter("root", nil, "stat", "-c", "%a %U %G", "/etc/standin/standin.env")); got != "640 root standin\n" {
		t.Errorf("the configuration file has %q", got)
	}

	media, err := replica.PrepareMedia(t.Context(), replica.MediaFolder())
	if err != nil {
		t.Fatal(err)
	}
	pages, err := replica.Start(t.Context(), replica.Options{Media: media})
	if err != nil {
		t.Fatal(err)
	}
	defer pages.Close()
	meeting, err := pages.Open(replica.Settings{AdmitAfter: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	environment := r.environment("STANDIN_LISTEN="+address, "STANDIN_LOOPBACK_MEETINGS=true", "STANDIN_NO_SANDBOX=true",
		"STANDIN_ALLOWED_MEETING_HOSTS="+strings.TrimPrefix(pages.URL(), "http://"))
	log := new(lockedBuffer)
	defer func() {
		if t.Failed() {
			t.Logf("the service's log:\n%s", log)
			logBots(t, r)
		}
	}()
	service := r.start(environment, log)
	key := strings.TrimSpace(r.do(r.enter("standin:standin", environment, "standin", "keys", "create", "--consumer", "acme")))
	api, err := client.New("http://"+address, key)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the service answers", func() bool { return api.Health(t.Context()) == nil })
	created, _, err := api.CreateJob(t.Context(), client.NewJob{ExternalID: "package", MeetingURL: meeting.URL(), DisplayName: "Standin"})
	if err != nil {
		t.Fatal(err)
	}
	status := func() client.Job {
		found, err := api.Job(t.Context(), created.ID)
		if err != nil {
			t.Fatal(err)
		}
		if found.Ended() && found.Status != "completed" {
			t.Fatalf("the job: %+v", found)
		}
		return found
	}
	await(t, "the bot records", func() bool { return status().Status == "recording_started" })

	r.install("0.0.2")
	r.stop(service)
	service = r.start(environment, log)
	await(t, "the service answers again", func() bool { return api.Health(t.Context()) == nil })
	if found := status(); found.Status != "recording_started" {
		t.Errorf("after the upgrade the job is %s", found.Status)
	}
	meeting.End()
	await(t, "the job is completed", func() bool { return status().Status == "completed" })
	attempts := status().Attempts
	r.stop(service)

	manifest := manifestOf(t, r, created.ID)
	for _, want := range []string{`"partial": false`, `"reason": "host_ended"`} {
		if !strings.Contains(manifest, want) {
			t.Errorf("the manifest does not have %s:\n%s", want, manifest)
		}
	}
	if attempts != 1 {
		t.Errorf("the job needed %d attempts", attempts)
	}
}

// logBots logs what the bots have logged. A bot has its own file, which the service
// does not read.
func logBots(t *testing.T, r debianRoot) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir, "var/lib/standin/data/bots/*", launch.LogFile))
	if err != nil {
		t.Error(err)
	}
	for _, name := range files {
		t.Logf("the bot's log:\n%s", read(t, name))
	}
}

// manifestOf returns the manifest in the data directory of the service.
func manifestOf(t *testing.T, r debianRoot, id string) string {
	t.Helper()
	return string(read(t, filepath.Join(r.dir, "var/lib/standin/data/recordings/jobs", id, "manifest.json")))
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return fmt.Sprint(listener.Addr())
}

// lockedBuffer collects the log of processes.
type lockedBuffer struct {
	mu  sync.Mutex
	log bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}
