package build

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"standin/internal/base/confine"
	"standin/internal/bot/ingest"
	"standin/internal/recording"
	"standin/internal/testing/await"
	"standin/internal/testing/hostile"
)

// TestSparseTarBomb checks that a bundle of 3 KiB with a sparse entry of 2 GiB is
// rejected before anything is extracted.
func TestSparseTarBomb(t *testing.T) {
	t.Parallel()
	const claimed = 2 << 30
	name := ingest.TrackSegmentName(0, 0)
	for kind, bundle := range map[string][]byte{
		"PAX 1.0": hostile.SparseBundle(t, name, claimed),
		"PAX 0.1": hostile.SparseEntry(t, name, "", "GNU.sparse.numblocks=1", "GNU.sparse.size="+strconv.Itoa(claimed),
			"GNU.sparse.map="+strconv.Itoa(claimed)+",0"),
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "voices-000000.tar")
		if err := os.WriteFile(path, bundle, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unbundle(path, dir); err == nil {
			t.Errorf("%s: the bundle was accepted", kind)
		}
		if used := diskUse(t, dir); used > 2*int64(len(bundle)) {
			t.Errorf("%s: a bundle of %d bytes extracts to %d bytes", kind, len(bundle), used)
		}
	}
}

// diskUse returns the total size of the files in a folder.
func diskUse(t *testing.T, dir string) int64 {
	t.Helper()
	var used int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		used += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// TestTruncatedBundleEntry checks that an entry larger than its bundle is rejected.
func TestTruncatedBundleEntry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var bundle bytes.Buffer
	writer := tar.NewWriter(&bundle)
	if err := writer.WriteHeader(&tar.Header{
		Name: ingest.TrackSegmentName(0, 0), Mode: 0o600, Size: 1 << 40, Format: tar.FormatPAX,
	}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "voices-000000.tar")
	if err := os.WriteFile(path, bundle.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unbundle(path, dir); err == nil || !strings.Contains(err.Error(), "larger than the bundle") {
		t.Errorf("error is %v", err)
	}
}

// runScript runs a shell script instead of ffmpeg.
func runScript(t *testing.T, ctx context.Context, limits toolLimits, body string, files ...string) ([]byte, error) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("resource limits are set on Linux only")
	}
	return runTool(ctx, limits, "/bin/sh", append([]string{"-c", body, "tool"}, files...)...)
}

// TestMediaThatNeverEndsDecoding checks that a tool that loops or blocks is killed
// and that its input is rejected.
func TestMediaThatNeverEndsDecoding(t *testing.T) {
	t.Parallel()
	limits := toolLimits{Time: time.Second, Memory: 1 << 30, FileSize: 1 << 20}
	for name, body := range map[string]string{"busy": "while :; do :; done", "waiting": "sleep 600"} {
		start := time.Now()
		_, err := runScript(t, t.Context(), limits, body)
		if !errors.Is(err, errToolLimit) || !RejectedInput(err) {
			t.Errorf("%s: %v", name, err)
		}
		if elapsed := time.Since(start); elapsed > 2*time.Minute {
			t.Errorf("%s: ended after %s", name, elapsed)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := runScript(t, ctx, limitsFor(0), "sleep 600"); !errors.Is(err, context.DeadlineExceeded) || RejectedInput(err) {
		t.Errorf("deadline of the caller: %v", err)
	}
}

// TestToolOfKilledService checks that a tool ends with the process that runs it.
func TestToolOfKilledService(t *testing.T) {
	const variable = "STANDIN_TEST_TOOL"
	if os.Getenv(variable) != "" { // the process
		dir, err := os.Getwd()
		if err == nil {
			_, err = runScript(t, t.Context(), limitsFor(0), `echo $$ >"$1"; exec sleep 600`, filepath.Join(dir, "id"))
		}
		t.Fatal(err)
	}
	t.Parallel()
	dir := t.TempDir()
	service := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$") //nolint:gosec // this program
	service.Dir, service.Env = dir, append(os.Environ(), variable+"=1")
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	tool := 0
	await.Until(t, "the tool to start", func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "id"))
		tool, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return tool > 0
	})
	_ = service.Process.Kill()
	_ = service.Wait()
	await.Until(t, "the tool to end", func() bool {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", tool)) // empty for one that nobody has waited for
		return len(command) == 0
	})
}

// TestMediaThatFillsTheDisk checks that the size of a tool's output files is limited.
func TestMediaThatFillsTheDisk(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "output")
	_, err := runScript(t, t.Context(), toolLimits{
		Time: time.Minute, Memory: 1 << 30, FileSize: 1 << 20,
	}, `exec head -c 1000000000 /dev/zero >"$1"`, target)
	info, statErr := os.Stat(target)
	if err == nil || statErr != nil || info.Size() > 1<<20 {
		t.Errorf("error is %v; file is %v (%v)", err, info, statErr)
	}
}

// TestMediaThatEatsMemory checks that a tool's memory is limited.
func TestMediaThatEatsMemory(t *testing.T) {
	t.Parallel()
	_, err := runScript(t, t.Context(), toolLimits{
		Time: time.Minute, Memory: 64 << 20, FileSize: 1 << 20,
	}, "exec dd if=/dev/zero of=/dev/null bs=512M count=1")
	if !RejectedInput(err) {
		t.Errorf("error is %v", err)
	}
}

// TestToolsDoNotInheritSecrets checks that tools run with an allow-listed
// environment.
func TestToolsDoNotInheritSecrets(t *testing.T) {
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "STANDIN_INGEST_SIGNING_KEY", "GITHUB_TOKEN"} {
		t.Setenv(name, "secret")
	}
	output, err := runScript(t, t.Context(), limitsFor(0), "exec env")
	if err != nil || bytes.Contains(output, []byte("secret")) || !bytes.Contains(output, []byte("PATH=")) {
		t.Errorf("environment is %q (%v)", output, err)
	}
}

// TestMediaThatReadsTheServicesFiles checks that a tool which media has taken over
// reaches no other files of the service than those that it was called with.
func TestMediaThatReadsTheServicesFiles(t *testing.T) {
	t.Parallel()
	if confine.Version() == 0 {
		t.Skip("this kernel has no Landlock")
	}
	data := t.TempDir()
	media, key := filepath.Join(data, "work", "media.mp4"), filepath.Join(data, "ingest.key")
	if err := os.Mkdir(filepath.Dir(media), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{media, key} {
		if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	output, err := runScript(t, t.Context(), limitsFor(0), `cat "$1"; cat `+key+` || echo denied`, media)
	if err != nil || strings.TrimSpace(string(output)) != "contentdenied" {
		t.Errorf("the tool reads %q, %v", output, err)
	}
}

// TestReportWithOneIDForEveryone checks that finding unique IDs for many people with the same
// ID takes linear time.
func TestReportWithOneIDForEveryone(t *testing.T) {
	t.Parallel()
	report := ingest.Report{People: make([]ingest.Person, 100_000)}
	for i := range report.People {
		report.People[i] = ingest.Person{ID: "a", Name: strconv.Itoa(i)}
	}
	start := time.Now()
	manifest := newManifest(ManifestInput{}, []ingest.Report{report}, Packed{}, "http://localhost")
	if elapsed := time.Since(start); elapsed > 2*time.Minute { // far more than linear time takes on a busy machine
		t.Errorf("Build took %s", elapsed)
	}
	ids := map[string]bool{}
	for _, participant := range manifest.Participants {
		ids[participant.ID] = true
	}
	if len(ids) != len(report.People) {
		t.Errorf("%d IDs for %d people", len(ids), len(report.People))
	}
}

// TestReportWithEndlessLists checks that a report with longer lists than any
// meeting needs is treated as missing.
func TestReportWithEndlessLists(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	t.Parallel()
	finisher := newFinisherHarness(t)
	finisher.report(t, ingest.Report{BotVersion: "1", Gaps: make([]ingest.Gap, 100_000)})
	if report, err := finisher.Finisher.report(t.Context(), finisher.id, 0); err != nil || report.found {
		t.Errorf("found is %v, error is %v", report.found, err)
	}
}

// TestReportTextsAreCleaned checks that a report's texts lose their control characters
// and lone surrogates, and that long ones are cut.
func TestReportTextsAreCleaned(t *testing.T) {
	t.Parallel()
	finisher := newFinisherHarness(t)
	text := `{"botVersion":"1\u0000","endDetail":"a\u001b[31m\ud800b","people":[{"id":"p","name":"` + strings.Repeat("x", 20_000) + `"}]}`
	put(t, finisher.recordings, finisher.id, 0, ingest.ReportName, text)
	report, err := finisher.Finisher.report(t.Context(), finisher.id, 0)
	if err != nil || !report.found || report.BotVersion != "1" || report.EndDetail != "a[31mb" || len(report.People[0].Name) != 10_000 {
		t.Errorf("%+v (%v)", report, err)
	}
}

// TestMediaThatIsAPage checks that an upload with an active content type is
// rejected.
func TestMediaThatIsAPage(t *testing.T) {
	t.Parallel()
	finisher := newFinisherHarness(t)
	const page = "<script>alert(1)</script>"
	put(t, finisher.recordings, finisher.id, 0, "chat.txt", page)
	for contentType, allowed := range map[string]bool{
		"text/plain": true, "text/html": false, "image/svg+xml": false, "text/plain; x=text/html": false, "": false,
	} {
		file := recording.File{Name: "chat.txt", Kind: recording.Chat, ContentType: contentType, Bytes: int64(len(page)), SHA256: sumText(page)}
		attempt := attemptData{report: FinalReport{Media: []recording.File{file}}}
		if err := finisher.checkReportedFiles(t.Context(), finisher.id, attempt); (err == nil) != allowed {
			t.Errorf("%q: %v", contentType, err)
		}
	}
}
