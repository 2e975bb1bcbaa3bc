package main

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"standin/internal/job"
	"standin/internal/replica"
	"standin/internal/testing/mediacheck"
)

// A bot of TestConcurrentVoices plays beeps of this frequency, voiceBeeps of them in each
// sound. Participants beep at another one.
const (
	voiceHz       = 3000
	voiceBeeps    = 20
	voiceInterval = 500 * time.Millisecond
	voiceRate     = 8000 // samples per second
)

// TestConcurrentVoices measures, if STANDIN_TEST_COST is set, four bots that record meetings at
// once, and then four that also talk in theirs. The other participants hear each beep of
// those once, and each recording has it once.
func TestConcurrentVoices(t *testing.T) {
	needTools(t)
	length := costLength(t)
	t.Setenv("STANDIN_BOT_CORES", concurrentBotCores)
	for _, row := range []struct {
		name   string
		sounds int
	}{
		{"recording", 0},
		{"talking", int((costWarmUp+length)/(voiceBeeps*voiceInterval)) + 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newHarness(t, fullPicture)
			var bots []visit
			var leaders []int
			for number := range concurrentBots {
				options := map[string]any{"externalId": fmt.Sprint(number), "metadata": map[string]any{"participantAudio": false}}
				if row.sounds > 0 {
					options["output"] = map[string]any{}
				}
				v := h.visit(t, busyMeeting(2), options)
				v.awaitJob(v.id, job.RecordingStarted)
				bots, leaders = append(bots, v), append(leaders, v.bot(v.id, 0))
			}
			for _, v := range bots {
				for range row.sounds {
					v.call(http.MethodPost, "/api/v1/jobs/"+v.id+"/play-audio", map[string]any{"data": base64.StdEncoding.EncodeToString(voiceWAV())}, nil)
				}
			}
			used := measureSessions(length, leaders...)
			t.Logf("%d bots: %.2f cores, %d MiB, %d processes", concurrentBots, used.cores, used.memory>>20, used.processes)
			for number, v := range bots {
				v.await(fmt.Sprintf("bot %d to stop to talk", number), func() bool { return !v.meeting.Guests()[0].Microphone })
				v.meeting.End()
			}
			for number, v := range bots {
				v.awaitJob(v.id, job.Completed)
				path, report := v.recording(v.manifest(v.id))
				heard := 0
				if row.sounds > 0 {
					file := filepath.Join(t.TempDir(), "heard.ogg")
					if err := replica.WriteOgg(file, v.meeting.Heard("g1")); err != nil {
						t.Fatal(err)
					}
					heard = voiceTones(t, file)
				}
				recorded, beats := voiceTones(t, path), countBeats(report, 0, report.DurationMs)
				t.Logf("bot %d: %d of %d beeps were heard, %d recorded; %d beeps of others are in %.1f s; longest frame %.0f ms",
					number, heard, row.sounds*voiceBeeps, recorded, beats.beeps, beats.seconds, report.LongestFrameGapMs)
				if want := row.sounds * voiceBeeps; heard != want || recorded != want {
					t.Errorf("bot %d played %d beeps", number, want)
				}
			}
		})
	}
}

// voiceTones returns how many beeps of a bot are in a file.
func voiceTones(t *testing.T, file string) int {
	t.Helper()
	tones, err := mediacheck.Tones(t.Context(), file, voiceHz)
	if err != nil {
		t.Fatal(err)
	}
	return len(tones[0])
}

// voiceWAV returns the beeps of a sound.
func voiceWAV() []byte {
	samples := int(voiceBeeps * voiceInterval * voiceRate / time.Second)
	file := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(36+2*samples))...)
	file = append(file, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"...) // PCM, mono
	file = binary.LittleEndian.AppendUint32(file, voiceRate)
	file = binary.LittleEndian.AppendUint32(file, 2*voiceRate)
	file = append(file, "\x02\x00\x10\x00data"...)
	file = binary.LittleEndian.AppendUint32(file, uint32(2*samples))
	for i := range samples {
		value := 0.0
		if at := time.Duration(i) * time.Second / voiceRate; at%voiceInterval < 100*time.Millisecond {
			value = 10_000 * math.Sin(2*math.Pi*voiceHz*float64(i)/voiceRate)
		}
		file = binary.LittleEndian.AppendUint16(file, uint16(int16(value)))
	}
	return file
}
