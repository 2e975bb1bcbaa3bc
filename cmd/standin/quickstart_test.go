package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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
	r := newDocumentRun(t)
	r.dir, r.live = filepath.Join(t.TempDir(), "standin"), true
	ownEnvironment := func(dir, text string) { // also the caches of Go
		command := exec.CommandContext(t.Context(), "bash", "-c", text)
		command.Dir = dir
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", text, err, output)
		}
	}
	var total time.Duration
	step := func(name string, run func()) {
		started := time.Now()
		run()
		took := time.Since(started)
		t.Logf("%7.1f s  %s", took.Seconds(), name)
		if name != "make build" {
			total += took
		}
	}
	step("clone", func() { ownEnvironment(root, "git clone --quiet . "+r.dir) })
	for _, command := range commandsOf(t, "README.md") {
		step(command.text, func() {
			if strings.HasPrefix(command.text, "make ") {
				ownEnvironment(r.dir, command.text)
			} else {
				r.run(command)
			}
		})
	}
	step("play the recording", r.play)
	if total > quickStartLimit {
		t.Errorf("the quick start takes %s without the build, more than %s", total.Round(time.Second), quickStartLimit)
	}
}

// play creates the first user in a browser, and plays the recording on the page of the job.
func (r *documentRun) play() {
	r.Helper()
	link := ""
	for _, o := range r.outputs {
		link += regexp.MustCompile(`http://\S+/welcome\?\S+`).FindString(o.output.String())
	}
	page := testbrowser.OpenTab(r.T)
	page.Open(link)
	for name, text := range map[string]string{"name": "Ada", "email": "ada@example.com", "password": testPassword} {
		page.Fill(fmt.Sprintf("input[name=%q]", name), text)
	}
	page.Click("button.primary")
	page.Until(`document.querySelector("details.account") !== null`) // signed in
	page.Open(r.base + "/jobs/" + r.job)
	testbrowser.Eval[float64](page, `(async () => {
		const video = document.querySelector("video");
		video.muted = true; // otherwise it plays only after a click
		await video.play();
		while (video.currentTime < 1) await new Promise(next => setTimeout(next, 50));
		return video.currentTime;
	})()`)
}
