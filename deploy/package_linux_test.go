package deploy_test

import (
	"context"
	"fmt"
	"net/smtp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/client"
	"standin/internal/replica"
)

// packagesVariable enables the test of the Debian package (make packages-test).
const packagesVariable = "STANDIN_TEST_PACKAGES"

// packageTimeout bounds every wait of the test of the package.
const packageTimeout = 10 * time.Minute

// directives are directives of the units with their values; empty ones must be absent. Bots outlive
// the service, and run Chromium.
var directives = map[string]map[string]string{
	"standin.service": {
		"StateDirectoryMode": "0700", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "User": "standin", "KillMode": "process",
		"OOMPolicy": "continue", "Type": "notify",
		"WatchdogSec": "30", "PrivateTmp": "", "RuntimeDirectory": "", "MemoryDenyWriteExecute": "", "RestrictNamespaces": "",
	},
	"standin-mail.service": {"StateDirectoryMode": "0700", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "User": "standin"},
}

// TestUnits verifies the units and their sandboxes with systemd, and the properties
// that bots need.
func TestUnits(t *testing.T) {
	t.Parallel()
	need(t, "systemd-analyze")
	dir := t.TempDir()
	// The greatest exposure that systemd-analyze may report, in tenths.
	for name, exposure := range map[string]string{"standin.service": "35", "standin-mail.service": "22"} {
		content, path := string(read(t, "systemd/"+name)), filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(content, "/usr/bin/standin", os.Args[0])), 0o600); err != nil { // it must exist
			t.Fatal(err)
		}
		for _, arguments := range [][]string{{"verify", "--man=no"}, {"security", "--offline=true", "--no-pager", "--threshold=" + exposure}} {
			out, err := exec.CommandContext(t.Context(), "systemd-analyze", append(arguments, path)...).CombinedOutput()
			if err != nil || arguments[0] == "verify" && strings.Contains(string(out), name) {
				t.Errorf("%s: %v: %s", name, err, out)
			}
		}
		for key, want := range directives[name] {
			found := regexp.MustCompile(`(?m)^`+key+`=(.*)$`).FindAllStringSubmatch(content, -1)
			if want == "" && found != nil || want != "" && (len(found) != 1 || found[0][1] != want) {
				t.Errorf("%s: %s is %q, want %q", name, key, found, want)
			}
		}
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
	for _, match := range regexp.MustCompile(`install -y --no-install-recommends ([a-z0-9 -]+)`).FindAllStringSubmatch(string(read(t,
		"Dockerfile")), -1) {
		packages = append(packages, strings.Fields(match[1])...)
	}
	if !slices.Contains(packages, "chromium") {
		t.Fatalf("the Dockerfile installs %q", packages)
	}
	return packages
}

// TestDebianPackage installs the package into a new Debian system with systemd, whose
// units start the service and the mail worker in their sandboxes, schedules a meeting by
// mail, and sends a bot into another meeting. While the bot records, with Chromium's own sandbox, a rebuilt package is installed,
// which restarts
// the service. The recording is complete.
func TestDebianPackage(t *testing.T) {
	if os.Getenv(packagesVariable) == "" {
		t.Skip("set " + packagesVariable + "=1, or run make packages-test, to install the Debian package into a new system")
	}
	needRoot(t, "mmdebstrap", "unshare", "nsenter")
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
	const address = "127.0.0.25:8080" // which nothing else uses
	d := startDebian(t)
	d.configure("standin", "STANDIN_LISTEN="+address, "STANDIN_INTAKE_SECRET=package-test", "STANDIN_LOOPBACK_MEETINGS=true",
		"STANDIN_ALLOWED_MEETING_HOSTS="+strings.TrimPrefix(pages.URL(), "http://"))
	defer func() {
		if t.Failed() {
			t.Log(d.do("sh", "-c", "journalctl --no-pager --unit=standin --unit=standin-mail; cat /var/lib/standin/data/bots/*/bot.log"))
		}
	}()
	if printed := d.install("0.0.1"); !strings.Contains(printed, "sudo standin setup") {
		t.Errorf("the installation does not say what to do next:\n%s", printed)
	}
	checkManager(t, d)
	d.shows("^600 root root\n700 standin standin\n$", "stat", "-c", "%a %U %G", "/etc/standin/standin.env", "/var/lib/standin")
	service := d.mainPID("standin")
	checkSandbox(t, d, service, noCapabilities)
	key := strings.TrimSpace(d.do("standin", "keys", "create", "--team", "acme", "--email", organizer))
	api, err := client.New("http://"+address, key)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the service answers", func() bool { return api.Health(t.Context()) == nil })
	checkMail(t, d, api)
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
	bot := strings.Fields(d.do("pgrep", "--full", "standin bot"))[0]
	checkSandbox(t, d, bot, noCapabilities)
	d.do("sh", "-c", "pgrep --full -- --type=renderer && ! pgrep --full -- '^[^ ]*chrom.*--no-sandbox'") // Chromium has its own sandbox

	if printed := d.install("0.0.2"); strings.Contains(printed, "sudo standin setup") {
		t.Error("an upgrade says how to create the first user")
	}
	if restarted := d.mainPID("standin"); restarted == service {
		t.Error("the upgrade did not restart the service")
	}
	await(t, "the service answers again", func() bool { return api.Health(t.Context()) == nil })
	if found := status(); found.Status != "recording_started" {
		t.Errorf("after the upgrade the job is %s", found.Status)
	}
	meeting.End()
	await(t, "the job is completed", func() bool { return status().Status == "completed" })
	if attempts := status().Attempts; attempts != 1 {
		t.Errorf("the job needed %d attempts", attempts)
	}
	manifest := "/var/lib/standin/data/recordings/jobs/" + created.ID + "/manifest.json"
	d.shows(`"partial": false`, "cat", manifest)
	d.shows(`"reason": "host_ended"`, "cat", manifest)
	checkRemoval(t, d)
}

// checkManager checks that systemd has heard that the service listens and lives, that the mail
// worker is not started, and that man and the shells find what the package has for them.
func checkManager(t *testing.T, d *debian) {
	t.Helper()
	for unit, properties := range map[string][]string{
		"standin":      {"Type=notify", "ActiveState=active", "StatusText=Listening on http://", "WatchdogUSec=30s", "UnitFileState=enabled"},
		"standin-mail": {"ActiveState=inactive", "UnitFileState=disabled"},
	} {
		for _, want := range properties {
			d.shows("(?m)^"+want, "systemctl", "show", unit)
		}
	}
	d.shows("--simulate", "man", "standin-jobs-create")
	d.do("bash", "-c", "source /usr/share/bash-completion/completions/standin && complete -p standin")
}

// checkRemoval removes and purges the package. The recordings stay.
func checkRemoval(t *testing.T, d *debian) {
	t.Helper()
	d.do("apt-get", "purge", "-y", "-qq", "standin")
	d.shows("LoadState=not-found", "systemctl", "show", "standin")
	d.do("test", "-d", "/var/lib/standin/data/recordings")
	d.shows("^$", "find", "/etc", "-name", "standin*.service", "-o", "-name", "standin*.env", "!", "-name", "*-test.env")
}

// organizer is the mail address of the consumer, and invitation an invitation from it
// to tomorrow's meeting.
const (
	organizer  = "ada@example.com"
	invitation = "From: " + organizer + "\r\nTo: notes@example.com\r\nSubject: Review\r\nMessage-ID: <1@example.com>\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: text/calendar; method=REQUEST\r\n\r\n" +
		"BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:review@example.com\r\nORGANIZER:mailto:" + organizer + "\r\n" +
		"DTSTART:%s\r\nDURATION:PT1H\r\nSUMMARY:Review\r\nLOCATION:https://meet.google.com/abc-defg-hij\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)

// checkMail starts the unit of the mail worker, which listens on port 25, sends it an
// invitation, and checks that the service has a job for it.
func checkMail(t *testing.T, d *debian, api *client.Client) {
	t.Helper()
	const listen = "127.0.0.25:25" // an address that no other mail server uses
	d.configure("standin-mail", "STANDIN_MAIL_SMTP_LISTEN="+listen,
		"STANDIN_MAIL_RECIPIENTS=notes@example.com", "STANDIN_MAIL_SENDERS=*", "STANDIN_MAIL_NETWORKS=127.0.0.0/8")
	d.do("systemctl", "daemon-reload")
	d.do("systemctl", "start", "standin-mail")
	message := fmt.Appendf(nil, invitation, time.Now().Add(24*time.Hour).UTC().Format("20060102T150405Z"))
	await(t, "the mail worker accepts a message", func() bool {
		return smtp.SendMail(listen, nil, organizer, []string{"notes@example.com"}, message) == nil
	})
	await(t, "the invitation has a job", func() bool {
		for found, err := range api.Jobs(t.Context(), client.JobFilter{Status: "scheduled"}) {
			return err == nil && found.MeetingURL == "https://meet.google.com/abc-defg-hij"
		}
		return false
	})
	checkSandbox(t, d, d.mainPID("standin-mail"), mailCapabilities)
}

// The capabilities of the units' processes. That of the mail worker is CAP_NET_BIND_SERVICE.
const (
	noCapabilities   = "0000000000000000"
	mailCapabilities = "0000000000000400"
)

// checkSandbox checks the sandbox of a process of a unit: no
// further capabilities, no new privileges, a system call filter, and a file system that
// is read-only except for the unit's folders.
func checkSandbox(t *testing.T, d *debian, process, capabilities string) {
	t.Helper()
	const state = "/var/lib/standin"
	status := d.do("cat", "/proc/"+process+"/status")
	for _, want := range []string{"CapBnd:\t" + capabilities, "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(status, want) {
			t.Errorf("%s: not %q:\n%s", process, want, status)
		}
	}
	mounts := d.do("cat", "/proc/"+process+"/mounts")
	for path, writable := range map[string]string{"/": "ro", state: "rw", "/tmp": "rw"} {
		if !regexp.MustCompile(`(?m)^\S+ ` + path + ` \S+ ` + writable + `[, ]`).MatchString(mounts) {
			t.Errorf("%s: %s is not %s:\n%s", process, path, writable, mounts)
		}
	}
	if devices := d.do("ls", "/proc/"+process+"/root/dev"); strings.Contains(devices, "kmsg") || !strings.Contains(devices, "null") {
		t.Errorf("%s: devices: %s", process, devices)
	}
}
