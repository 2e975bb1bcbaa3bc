package main

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/testing/testpython"
)

// needSpeech skips a test if the programs that speak and recognize speech are missing, and
// fails it in CI.
func needSpeech(t *testing.T) {
	t.Helper()
	for _, program := range []string{"espeak-ng", "pocketsphinx_continuous"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") != "" {
			t.Fatalf("%s is missing; run scripts/setup.sh test", program)
		} else if err != nil {
			t.Skipf("%s is missing; run scripts/setup.sh test", program)
		}
	}
}

// spokenSamples returns a spoken text at 48 kHz.
func spokenSamples(t *testing.T, text string) []int16 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "speech.wav")
	if err := exec.CommandContext(t.Context(), "espeak-ng", "-v", "en-us", "-s", "140", "-w", path, text).Run(); err != nil {
		t.Fatal(err)
	}
	pcm, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-i", path, "-ar", "48000", "-ac", "1", "-f", "s16le", "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	samples := make([]int16, len(pcm)/2)
	for i := range samples {
		samples[i] = int16(binary.LittleEndian.Uint16(pcm[2*i:]))
	}
	return samples
}

// TestVoiceAgent runs examples/voice-agent in a meeting: it recognizes what a participant
// says, answers so that others hear it, and stops when it is interrupted.
func TestVoiceAgent(t *testing.T) {
	long(t)
	t.Parallel()
	interpreter := testpython.Find(t, root, "websockets.asyncio.server")
	needSpeech(t)
	h := newHarness(t, smallPicture)
	agent := exec.CommandContext(t.Context(), interpreter, "-u", root+"examples/voice-agent/agent.py")
	agent.Env = append(os.Environ(), "PORT=0", "STANDIN_WEBHOOK_SECRET="+h.secret)
	output := new(lockedBuffer)
	agent.Stdout, agent.Stderr = output, output
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Process.Kill(); _ = agent.Wait(); t.Log(output.String()) })
	url := output.await(t, `waiting on (\S+)`)
	h.meeting.SetSilent(true)
	id := h.create(map[string]any{
		"recording": map[string]any{"mode": "audio"},
		"streams":   []map[string]any{{"url": url, "sampleRate": 16000, "send": true}},
	})
	h.awaitJob(id, job.RecordingStarted)
	say := func(text string) time.Time {
		t.Helper()
		begins, err := h.meeting.Speak(t.Context(), "Ada Quill", spokenSamples(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return begins
	}
	begins := say("one two three")
	heard := output.await(t, `heard: *([^\n]*)\n`)
	right := 0
	for _, word := range []string{"one", "two", "three"} {
		if strings.Contains(heard, word) {
			right++
		}
	}
	if right < 2 { // the recognizer is small
		t.Errorf("the agent heard %q", heard)
	}
	if says := output.await(t, `says: *([^\n]*)\n`); !strings.HasPrefix(says, "You said "+heard+". That makes ") {
		t.Errorf("the agent says %q", says)
	}
	answered := h.awaitVoice(begins)
	t.Logf("the answer is heard %v after the beginning of the question", answered.Sub(begins).Round(time.Millisecond))

	begins = say("seven eight nine")
	output.await(t, `(?s)interrupted.*heard:`)
	last := time.Time{}
	for _, packet := range h.meeting.Heard("g1") {
		if len(packet.Payload) > voicedBytes {
			last = packet.At
		}
	}
	stopped := last.Sub(begins).Round(time.Millisecond)
	if t.Logf("the answer is heard for %v after the beginning of the interruption", stopped); stopped > 2*time.Second {
		t.Error("the agent went on after it was interrupted")
	}
	output.await(t, `(?s)interrupted.*says:`)
	h.awaitVoice(time.Now())
	h.meeting.End()
	h.awaitJob(id, job.Completed)
	if manifest := h.manifest(id); len(manifest.Media) == 0 || manifest.End.Reason != "host_ended" {
		t.Errorf("manifest %+v", manifest)
	}
}

// voicedBytes is the size of the bot's audio packets with speech, at least: those with
// silence are smaller.
const voicedBytes = 30

// awaitVoice waits until others hear the bot's voice after a time, and returns when.
func (h *harness) awaitVoice(after time.Time) (at time.Time) {
	h.Helper()
	h.await("the bot's voice", func() bool {
		voiced := 0
		for _, packet := range h.meeting.Heard("g1") {
			if packet.At.Before(after) || len(packet.Payload) <= voicedBytes {
				continue
			}
			if voiced++; voiced == 1 {
				at = packet.At
			}
		}
		return voiced >= 10 // no click
	})
	return at
}
