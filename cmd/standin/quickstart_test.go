package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"standin/internal/testing/testbrowser"
)

// quickStartLimit is how long the quick start may take without the build.
const quickStartLimit = 3 * time.Minute

// TestQuickStart runs the README's quick start in a new clone, creates the first user in a
// browser, and plays the recording (make quickstart-check).
func TestQuickStart(t *testing.T) {
	if os.Getenv("STANDIN_TEST_QUICKSTART") == "" {
		t.Skip("set STANDIN_TEST_QUICKSTART=1, or run make quickstart-check, to run the quick start in a new clone")
	}
	needTools(t)
	q := &quickStart{T: t, dir: filepath.Join(t.TempDir(), "standin")}
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // port 8080 may be taken
	if err != nil {
		t.Fatal(err)
	}
	q.address = listener.Addr().String()
	_ = listener.Close()
	q.step("clone", func() { q.run(repository, "git", "clone", "--quiet", ".", q.dir) })
	for _, command := range q.commands() {
		q.step(strings.TrimSpace(command), func() { q.command(command) })
	}
	if q.serving == nil || q.job == "" {
		t.Fatalf("the quick start does not run a service, or sends no bot: %v", q.steps)
	}
	q.step("play the recording", q.play)
	var total time.Duration
	for _, step := range q.steps {
		t.Logf("%7.1f s  %s", step.took.Seconds(), step.name)
		if !strings.HasPrefix(step.name, "make build") {
			total += step.took
		}
	}
	t.Logf("%7.1f s  in all, without the build", total.Seconds())
	if total > quickStartLimit {
		t.Errorf("the quick start takes %s, more than %s", total.Round(time.Second), quickStartLimit)
	}
}

// quickStart is a run of the quick start.
type quickStart struct {
	*testing.T
	dir     string // the clone
	address string // of the service
	serving *lockedBuffer
	user    string // URL that creates the first user
	job     string // URL of the job
	steps   []quickStartStep
}

type quickStartStep struct {
	name string
	took time.Duration
}

func (q *quickStart) step(name string, run func()) {
	q.Helper()
	started := time.Now()
	run()
	q.steps = append(q.steps, quickStartStep{name, time.Since(started)})
}

// commands returns the commands of the section of the README.
func (q *quickStart) commands() (commands []string) {
	q.Helper()
	readme, err := os.ReadFile(filepath.Join(q.dir, "README.md"))
	if err != nil {
		q.Fatal(err)
	}
	_, section, found := strings.Cut(string(readme), "\n## Quick start\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, block := range fencedBlock.FindAllStringSubmatch(section, -1) {
		for rows := strings.SplitAfter(block[2], "\n"); block[1] == "sh" && len(rows) > 0; {
			end := wholeCommand(q.T, rows)
			if text := strings.TrimSpace(strings.Join(rows[:end], "")); text != "" {
				commands = append(commands, text)
			}
			rows = rows[end:]
		}
	}
	if !found || len(commands) == 0 {
		q.Fatal("the README has no quick start")
	}
	return commands
}

var (
	firstUserLink = regexp.MustCompile(`http://\S+/welcome\?\S+`)
	jobAddress    = regexp.MustCompile(`http://\S+/jobs/` + jobID.String())
)

// command runs a command, or starts the service.
func (q *quickStart) command(text string) {
	q.Helper()
	if !longRunning.MatchString(text) {
		if link := jobAddress.FindString(q.run(q.dir, "bash", "-e", "-o", "pipefail", "-c", text)); link != "" {
			q.job = link
		}
		return
	}
	q.serving = new(lockedBuffer)
	serve := q.process(context.WithoutCancel(q.Context()), q.dir, "bash", "-c", "exec "+text)
	serve.Stdout, serve.Stderr = q.serving, q.serving
	if err := serve.Start(); err != nil {
		q.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = serve.Wait() }()
	q.Cleanup(func() { _ = serve.Process.Signal(syscall.SIGTERM); <-ended })
	timeout := time.After(quickStartLimit)
	for ticker := time.NewTicker(10 * time.Millisecond); q.user == ""; q.user = firstUserLink.FindString(q.serving.String()) {
		select {
		case <-ticker.C:
		case <-ended:
			q.Fatalf("%s ended: %s", text, q.serving.String())
		case <-timeout:
			q.Fatalf("%s prints no link: %s", text, q.serving.String())
		}
	}
}

// process returns a process with no settings but the port of the service.
func (q *quickStart) process(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	process := exec.CommandContext(ctx, name, args...)
	process.Dir = dir
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "STANDIN_") && !strings.HasPrefix(variable, "XDG_") {
			process.Env = append(process.Env, variable)
		}
	}
	process.Env = append(process.Env, "STANDIN_CONFIG_DIR="+filepath.Join(q.dir, ".config"), "STANDIN_LISTEN="+q.address, "STANDIN_URL=http://"+q.address)
	return process
}

// run runs a program to its end and returns its output.
func (q *quickStart) run(dir, name string, args ...string) string {
	q.Helper()
	output, err := q.process(q.Context(), dir, name, args...).CombinedOutput()
	if err != nil {
		q.Fatalf("%s %q: %v\n%s", name, args, err, output)
	}
	return string(output)
}

// play creates the first user in a browser, and plays the recording on the page of the job.
func (q *quickStart) play() {
	q.Helper()
	ctx, cancel := context.WithTimeout(newPage(q.T, testbrowser.ForPages(q.T)), quickStartLimit)
	defer cancel()
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		q.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			q.Fatal(err)
		}
	}
	fill := func(name, text string) {
		q.Helper()
		do(chromedp.SendKeys(chromedp.CSS(fmt.Sprintf("input[name=%q]", name)), text))
	}
	do(chromedp.Navigate(q.user))
	fill("name", "Ada")
	fill("email", "ada@example.com")
	fill("password", testPassword)
	do(chromedp.Click(chromedp.CSS("button.primary"), chromedp.NodeVisible))
	do(chromedp.WaitVisible(chromedp.CSS("details.account"))) // signed in
	do(chromedp.Navigate(q.job))
	_, err := chromedp.Run(ctx, chromedp.Evaluate[float64](`(async () => {
		const video = document.querySelector("video");
		video.muted = true; // otherwise it plays only after a click
		await video.play();
		while (video.currentTime < 1) await new Promise(next => setTimeout(next, 50));
		return video.currentTime;
	})()`, chromedp.EvalAwaitPromise))
	if err != nil {
		q.Fatalf("the recording does not play: %v", err)
	}
}
