package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"standin/client"
	"standin/internal/jobs/job"
	"standin/internal/replica/speechserver"
	"standin/internal/testing/await"
	"standin/internal/testing/mediacheck"
	"standin/internal/testing/testbrowser"
	"standin/internal/testing/testprocess"
)

// practiceRun is standin practice with what it printed.
type practiceRun struct {
	*testing.T
	dir, watch, join, base, key, job, meeting string
}

// runPractice starts standin practice, and ends it with the test.
func runPractice(t *testing.T, flags ...string) *practiceRun {
	t.Helper()
	needTools(t)
	testbrowser.Reserve(t)
	r := &practiceRun{T: t, dir: t.TempDir()}
	command := exec.Command(testedBinary(), append([]string{"practice", "--no-browser", "--data-dir", r.dir}, flags...)...)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	exited, err := testprocess.Start(command, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGINT)
		<-exited
		if code := command.ProcessState.ExitCode(); code != 0 {
			t.Errorf("after Ctrl-C it ended with code %d", code)
		}
		stopBots(t, r.dir)
		if text, err := os.ReadFile(filepath.Join(r.dir, "standin.log")); t.Failed() && err == nil {
			t.Logf("log:\n%s", strings.Join(regexp.MustCompile("(?m)^.*(WARN|ERROR|meeting event).*$").FindAllString(string(text), 50), "\n"))
		}
	})
	find := func(line, pattern string, into ...*string) {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(line); found != nil {
			for i, to := range into {
				*to = found[i+1]
			}
		}
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() && !strings.Contains(lines.Text(), "Ctrl-C") {
		find(lines.Text(), `(http\S+/signin/link\S+)`, &r.watch)
		find(lines.Text(), `(http\S+/practice/\S+#\S+)`, &r.join)
		find(lines.Text(), `STANDIN_URL=(\S+) STANDIN_API_KEY=(\S+)`, &r.base, &r.key)
		find(lines.Text(), `jobs create (\S+)`, &r.meeting)
		find(lines.Text(), `jobs speak (\S+)`, &r.job)
	}
	if r.job == "" || r.watch == "" || r.join == "" || r.key == "" {
		t.Fatalf("standin practice printed too little: %+v", r)
	}
	return r
}

// standin runs a command with the printed key.
func (r *practiceRun) standin(arguments ...string) string {
	r.Helper()
	command := exec.CommandContext(r.Context(), testedBinary(), arguments...)
	command.Env = append(os.Environ(), "STANDIN_URL="+r.base, "STANDIN_API_KEY="+r.key)
	output, err := command.CombinedOutput()
	if err != nil {
		r.Fatalf("standin %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
	return string(output)
}

// awaitStatus waits until a job has a status.
func (r *practiceRun) awaitStatus(id string, want job.Status) {
	r.Helper()
	await.Until(r.T, fmt.Sprintf("job %s to be %s", id, want), func() bool {
		got, err := r.api().Job(r.Context(), id)
		return err == nil && got.Status == string(want)
	})
}

func (r *practiceRun) api() *client.Client {
	api, err := client.New(r.base, r.key)
	if err != nil {
		r.Fatal(err)
	}
	return api
}

// awaitEvent waits until a job's timeline has an event.
func (r *practiceRun) awaitEvent(kind string) {
	r.Helper()
	await.Until(r.T, kind, func() bool {
		for entry, err := range r.api().Timeline(r.Context(), r.job) {
			if err == nil && entry.Kind == kind {
				return true
			}
		}
		return false
	})
}

// awaitVoice waits until the first bot hears a participant speak.
func (r *practiceRun) awaitVoice(name string) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 4*time.Minute)
	defer cancel()
	speaker, err := "", error(nil)
	var event client.LiveEvent
	for event, err = range r.api().Live(ctx, r.job, "") {
		if err != nil {
			break
		}
		var now struct {
			Participants   []struct{ ID, Name string }
			ParticipantIDs []string
		}
		if event.Name != "participants" && event.Name != "speaking" || json.Unmarshal(event.Data, &now) != nil {
			continue
		}
		for _, one := range now.Participants {
			if one.Name == name {
				speaker = one.ID
			}
		}
		if slices.Contains(now.ParticipantIDs, speaker) {
			return
		}
	}
	r.Fatalf("nobody hears %s: %v", name, err)
}

// TestMendProfile breaks a button of the meeting page, and mends the profile.
func TestMendProfile(t *testing.T) {
	t.Parallel()
	profiles := t.TempDir()
	t.Run("broken", func(t *testing.T) {
		r := runPractice(t, "--break", "captions")
		r.awaitEvent("lifecycle.media_fault")
		await.Until(t, "a capture of the page", func() bool {
			found, err := filepath.Glob(filepath.Join(r.dir, "recordings", "jobs", r.job, "uploads", "*", "capture-*"))
			return err == nil && len(found) > 0
		})
	})
	profile := testprocess.Run(t, testedBinary(), "doctor", "profile", "meet")
	mended := bytes.ReplaceAll(profile, []byte(`button[aria-label="Turn on captions"]`), []byte(`button[aria-label="Subtitles"]`))
	mended = bytes.ReplaceAll(mended, []byte(`button[aria-label="Turn off captions"]`), []byte(`button.on[aria-label="Subtitles"]`))
	if err := os.WriteFile(filepath.Join(profiles, "meet.yaml"), mended, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("mended", func(t *testing.T) {
		r := runPractice(t, "--break", "captions", "--profiles", profiles)
		await.Until(t, "a caption", func() bool {
			for event, err := range r.api().LiveSoFar(t.Context(), r.job, "") {
				if err == nil && event.Name == "caption" {
					return true
				}
			}
			return false
		})
	})
}

// TestPracticeVoiceAgent runs the tutorial of voice agents in a practice meeting, where the agent repeats
// what people say, and the first bot hears it.
func TestPracticeVoiceAgent(t *testing.T) {
	t.Parallel()
	p := runPractice(t)
	r := newDocumentRun(t)
	const document, here = tutorials + "voice-agent.md", "standin teams show practice --secret --data-dir standin-practice"
	text := r.save(document)
	if !strings.Contains(text, here) {
		t.Errorf("the tutorial does not name %s", here)
	}
	secret := strings.NewReplacer("standin teams show acme --secret", strings.Replace(here, "standin-practice", p.dir, 1))
	for _, command := range commandsOf(t, document) {
		command.text = secret.Replace(command.text)
		r.run(command)
	}
	_, text, _ = strings.Cut(text, "POST /api/v1/jobs\n")
	text, _, _ = strings.Cut(text, "```")
	var agent client.NewJob
	if err := json.Unmarshal([]byte(r.ports.Replace(text)), &agent); err != nil {
		t.Fatal(err)
	}
	agent.MeetingURL = p.meeting
	if _, _, err := p.api().CreateJob(t.Context(), agent); err != nil {
		t.Fatal(err)
	}
	p.awaitVoice("Standin")
}

// createLater creates a job for another day, which must not keep the practice from ending.
func (r *practiceRun) createLater() {
	r.Helper()
	_, _, err := r.api().CreateJob(r.Context(), client.NewJob{
		ExternalID: "another day", MeetingURL: "https://meet.google.com/abc-defg-hij", JoinAt: new(time.Now().Add(72 * time.Hour)),
	})
	if err != nil {
		r.Fatal(err)
	}
}

// TestPractice watches a bot in the practice meeting, joins as a person who speaks, hears the bot
// speak, decides about another bot, ends the meeting and plays the recording.
func TestPractice(t *testing.T) {
	t.Parallel()
	if speechserver.Voice() == "" || speechserver.Recognizer() == "" {
		testprocess.Run(t, "pocketsphinx_continuous") // skips or fails
	}
	r := runPractice(t)
	r.createLater()
	words := filepath.Join(t.TempDir(), "words.wav")
	said, err := speechserver.New().Speak(t.Context(), "The photos are ready.")
	if err == nil {
		err = os.WriteFile(words+".said", said, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	testprocess.Run(t, "ffmpeg", "-v", "error", "-i", words+".said", "-af", "adelay=5000:all=1,apad=pad_dur=3600", "-t", "600", "-ar", "48000", words)
	pages := &testbrowser.Pages{Flags: map[string]any{
		"use-fake-ui-for-media-stream": true, "use-fake-device-for-media-stream": true, "use-file-for-fake-audio-capture": words + "%noloop",
	}}
	t.Cleanup(pages.Close)

	live := pages.Open(t)
	live.Open(r.watch)
	live.Until(`document.querySelector("h1").textContent === "Launch of the new website"`)
	live.Until(`[...document.images].some((picture) => picture.naturalWidth >= 640)`)
	r.awaitStatus(r.job, job.RecordingStarted)
	live.AwaitText("Good morning, everyone.") // its captions

	person := pages.Open(t)
	person.Open(r.join)
	person.Until(`document.querySelector("[name=name]") !== null`)
	person.Click("form button")
	person.Until(`document.querySelectorAll(".tile video").length >= 4`)
	person.AwaitText("ready") // recognized; "You the photos are ready" on a calm machine
	testbrowser.Eval[bool](person, `(() => {
		window.captions = "";
		setInterval(() => { window.captions += document.querySelector(".captions").innerText; }, 200);
		const tile = [...document.querySelectorAll(".tile")].find((one) => one.querySelector(".name").textContent === "Standin");
		const context = new AudioContext(), analyser = context.createAnalyser(), samples = new Float32Array(analyser.fftSize);
		context.createMediaStreamSource(tile.querySelector("audio").srcObject).connect(analyser);
		window.loudest = 0;
		setInterval(() => {
			analyser.getFloatTimeDomainData(samples);
			window.loudest = Math.max(window.loudest, ...samples);
		}, 20);
		return true;
	})()`)
	r.standin("jobs", "speak", r.job, "Hello. I am taking notes for all of you, and I will send them when the meeting is over. Please go on.")
	person.Until("window.loudest > 0.02")
	person.Until(`/Standin \w+/.test(window.captions)`) // what the bot was heard to say

	guest := pages.Open(t)
	guest.Open(r.meeting)
	guest.Until(`document.querySelector("[placeholder='Your name']") !== null`)
	guest.Click("[placeholder='Your name']")
	guest.Press("Eve")
	guest.ClickText("Ask to join")
	person.ClickText("Deny")
	guest.AwaitText("denied your request")
	heard := exec.CommandContext(t.Context(), testedBinary(), "jobs", "listen", r.job)
	heard.Env = append(os.Environ(), "STANDIN_URL="+r.base, "STANDIN_API_KEY="+r.key)
	sound, err := heard.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := heard.Start(); err != nil {
		t.Fatal(err)
	}
	if n, err := io.ReadFull(sound, make([]byte, 64_000)); err != nil {
		t.Errorf("two seconds of sound: %d bytes, %v", n, err)
	}
	person.ClickText("End the meeting")
	if err := heard.Wait(); err != nil {
		t.Errorf("jobs listen ends with %v", err)
	}
	r.awaitStatus(r.job, job.Completed)
	live.Open(r.base + "/jobs/" + r.job)
	seconds := testbrowser.Eval[float64](live, `(async () => {
		const video = document.querySelector("video");
		video.muted = true; // otherwise it plays only after a click
		await video.play();
		while (video.currentTime < 1) await new Promise((next) => setTimeout(next, 50));
		return video.duration;
	})()`)
	if seconds < 10 {
		t.Errorf("the recording is %.1f s long", seconds)
	}
	await.Until(t, "the words of the recognizer", func() bool {
		document, err := r.api().Transcript(t.Context(), r.job)
		return err == nil && len(document.Segments) > 2 && document.Segments[0].Source == "participant_audio"
	})
	var own, foreign *http.Response
	for host, response := range map[string]**http.Response{"": &own, "attacker.example": &foreign} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.meeting, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		if *response, err = http.DefaultClient.Do(request); err != nil {
			t.Fatal(err)
		}
		_ = (*response).Body.Close()
	}
	if own.StatusCode != http.StatusOK || foreign.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("the meeting answers %d, and %d to a page of another site", own.StatusCode, foreign.StatusCode)
	}
}

// TestPracticeOnce records once, as scripts do.
func TestPracticeOnce(t *testing.T) {
	t.Parallel()
	needTools(t)
	testbrowser.Reserve(t)
	dir := t.TempDir()
	output := testprocess.Run(t, testedBinary(), "practice", "--once", "--seconds", "6", "--data-dir", dir, "--platform", "teams")
	report, err := mediacheck.Decode(t.Context(), string(bytes.TrimSpace(output)))
	if err != nil || report.DurationMs < float64(4*time.Second/time.Millisecond) {
		t.Errorf("%s: %.0f ms, %v", output, report.DurationMs, err)
	}
}

// TestPracticeStreams receives a stream of people who talk, without a browser.
func TestPracticeStreams(t *testing.T) {
	t.Parallel()
	needTools(t)
	output := testprocess.Run(t, testedBinary(), "practice", "--once", "--seconds", "6", "--data-dir", t.TempDir(), "--platform", "zoom-sdk")
	path := string(bytes.TrimSpace(output))
	report, err := mediacheck.Decode(t.Context(), path)
	if err != nil || report.DurationMs < float64(4*time.Second/time.Millisecond) || report.AudioCodec != "aac" {
		t.Errorf("%s: %+v, %v", output, report, err)
	}
	if videos, err := filepath.Glob(filepath.Join(filepath.Dir(path), "video-*.mp4")); err != nil || len(videos) == 0 {
		t.Errorf("%s has no video of a person: %v", filepath.Dir(path), err)
	}
}

// TestMovie makes the moving picture of the README (make movie): the page of a bot, the meeting, and the player.
func TestMovie(t *testing.T) {
	movie := os.Getenv("STANDIN_TEST_MOVIE")
	if movie == "" {
		t.Skip("make movie sets STANDIN_TEST_MOVIE")
	}
	r, frames, frame := runPractice(t), t.TempDir(), 0
	pages := &testbrowser.Pages{Flags: map[string]any{"use-fake-ui-for-media-stream": true, "use-fake-device-for-media-stream": true, "window-size": "1280,800"}}
	t.Cleanup(pages.Close)
	page := pages.Open(t)
	film := func(length time.Duration) {
		for tick, end := time.NewTicker(250*time.Millisecond), time.Now().Add(length); time.Now().Before(end); <-tick.C {
			picture, err := chromedp.Run(page.Ctx, chromedp.CaptureScreenshot())
			if err == nil {
				err = os.WriteFile(filepath.Join(frames, fmt.Sprintf("%04d.png", frame)), picture, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			frame++
		}
	}
	page.Open(r.watch)
	r.awaitStatus(r.job, job.RecordingStarted)
	page.AwaitText("Good morning")
	film(9 * time.Second)
	page.Open(r.join)
	page.Until(`document.querySelector("[name=microphone]") !== null`)
	page.Click("[name=microphone]")
	page.Click("form button")
	page.Until(`document.querySelector(".presentation") !== null`)
	film(5 * time.Second)
	page.ClickText("End the meeting")
	r.awaitStatus(r.job, job.Completed)
	page.Open(r.base + "/jobs/" + r.job)
	testbrowser.Eval[bool](page, `(async () => {
		const video = document.querySelector("video");
		video.scrollIntoView({block: "center"});
		video.muted = true;
		await video.play();
		return true;
	})()`)
	film(6 * time.Second)
	testprocess.Run(t, "ffmpeg", "-v", "error", "-y", "-framerate", "4", "-i", filepath.Join(frames, "%04d.png"),
		"-vf", "scale=840:-1:flags=lanczos,split[a][b];[a]palettegen=max_colors=96:stats_mode=diff[p];[b][p]paletteuse=dither=none:diff_mode=rectangle", movie)
}
