package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/report"
	"standin/internal/bot/serviceclient"
	"standin/internal/bot/spool"
	"standin/internal/ingest"
	"standin/internal/job"
)

// TestFinishTime measures, if STANDIN_TEST_COST is set, the time from the end of a meeting
// until the manifest of its recording of 60 minutes, in 720p at 1.4 Mbit/s. The bot's own
// code delivers the recording to a service; a meeting and a browser are missing.
// STANDIN_TEST_VISITS is the number of recordings (default 10).
func TestFinishTime(t *testing.T) {
	needTools(t)
	costLength(t)
	segments := hourOfSegments(t)
	s := startTarget(t, newDataDir(t))
	key := http.Header{"Authorization": {"Bearer " + s.key("finish")}, "Content-Type": {"application/json"}}
	var times []time.Duration
	for number := range int(envInt(t, "STANDIN_TEST_VISITS", 10)) {
		body := fmt.Sprintf(`{"externalId":"hour-%d","meetingUrl":"https://meet.google.com/abc-defg-hij"}`, number)
		created := s.send(http.MethodPost, "/api/v1/jobs", key, bytes.NewReader([]byte(body)))
		id, _ := created.field("id").(string)
		if id == "" {
			t.Fatalf("create a job: %d %s", created.status, created.body)
		}
		dir := t.TempDir()
		deliver := recordHour(t, s, id, dir, segments)
		ended := time.Now()
		deliver()
		var status any
		s.await("the manifest", func() bool {
			status = s.send(http.MethodGet, "/api/v1/jobs/"+id, key, http.NoBody).field("status")
			return job.Status(fmt.Sprint(status)).Terminal()
		})
		if status != string(job.Completed) {
			t.Fatalf("the job is %v", status)
		}
		times = append(times, time.Since(ended))
		if err := os.RemoveAll(dir); err != nil { // it has a gigabyte
			t.Fatal(err)
		}
		var timeline struct {
			Entries []struct {
				Kind       string
				ReceivedAt time.Time
			}
		}
		if err := json.Unmarshal([]byte(s.send(http.MethodGet, "/api/v1/jobs/"+id+"/timeline?limit=100", key, http.NoBody).body), &timeline); err != nil {
			t.Fatal(err)
		}
		var steps []string
		for _, entry := range timeline.Entries {
			if after := entry.ReceivedAt.Sub(ended); after > 0 {
				steps = append(steps, fmt.Sprintf("%s after %s", entry.Kind, after.Round(time.Millisecond)))
			}
		}
		t.Logf("recording %d: manifest after %s: %s", number, times[number], strings.Join(steps, ", "))
		if answer := s.send(http.MethodDelete, "/api/v1/jobs/"+id+"/recording", key, http.NoBody); answer.status >= 300 {
			t.Fatalf("delete the recording: %d %s", answer.status, answer.body)
		}
	}
	slices.Sort(times)
	t.Logf("end of the meeting to manifest: median %s, p95 %s", times[len(times)/2], times[(len(times)*95+99)/100-1])
}

// hourOfSegments returns the segments of a second each of a recording of 60 minutes.
func hourOfSegments(t *testing.T) [][]byte {
	t.Helper()
	minute, hour := filepath.Join(t.TempDir(), "minute.mp4"), filepath.Join(t.TempDir(), "hour.mp4")
	for _, arguments := range [][]string{
		{"-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=15,noise=alls=12:allf=t", "-f", "lavfi", "-i", "sine=440:r=48000", "-t", "60",
			"-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "15", "-pix_fmt", "yuv420p", "-b:v", "1350k", "-maxrate", "1350k", "-bufsize", "1350k",
			"-c:a", "libopus", "-b:a", "48k", minute},
		{"-stream_loop", "59", "-i", minute, "-c", "copy", "-movflags", "+frag_keyframe+empty_moov+default_base_moof", "-f", "mp4", hour},
	} {
		if output, err := exec.CommandContext(t.Context(), "ffmpeg", append([]string{"-nostdin", "-v", "error"}, arguments...)...).CombinedOutput(); err != nil {
			t.Fatalf("make the recording: %v: %s", err, output)
		}
	}
	data, err := os.ReadFile(hour)
	if err != nil {
		t.Fatal(err)
	}
	var segments [][]byte
	for start, offset := 0, 0; offset < len(data); {
		kind := string(data[offset+4 : offset+8])
		offset += int(binary.BigEndian.Uint32(data[offset:]))
		if kind == "mdat" { // the first segment begins with the header
			segments = append(segments, data[start:offset])
			start = offset
		}
	}
	t.Logf("%d segments, %d MB", len(segments), len(data)/1e6)
	return segments
}

// recordHour takes the part of a job's bot, whose folder is dir, until the end of its meeting,
// when all segments but the last are uploaded. The function that it returns delivers the rest.
func recordHour(t *testing.T, s *target, id, dir string, segments [][]byte) func() {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	store, err := spool.Open(filepath.Join(dir, "spool"), spool.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := serviceclient.New(serviceclient.Settings{
		ServiceURL: s.base, JobID: id, Token: ingest.Token([]byte(signingKey), id, 0), Spool: store, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := client.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	at := time.Now().Add(-time.Hour)
	delivery := &report.Delivery{
		Log: log, Client: client, Spool: store, Report: report.New(0, "test", false, store, report.NewClock()), Events: report.NewEmitter(log, client),
	}
	for _, kind := range []job.Trigger{job.BotJoined, job.BotInMeeting, job.BotRecordingStarted} {
		if err := delivery.Events.Emit(kind, nil); err != nil {
			t.Fatal(err)
		}
	}
	delivery.Report.SetJoined(at)
	delivery.Report.SetAdmitted(at)
	delivery.Report.StartPart(0, at)
	record := func(sequence int) {
		if err := store.AppendSegment(0, sequence, segments[sequence]); err != nil {
			t.Fatal(err)
		}
		delivery.Report.AddSegment(0, sequence)
	}
	last := len(segments) - 1
	for sequence := range last {
		record(sequence)
	}
	if err := client.FlushMedia(ctx); err != nil {
		t.Fatal(err)
	}
	return func() {
		record(last)
		end := report.End{Reason: "meeting_ended"}
		delivery.Report.EndPart(time.Now(), nil)
		delivery.Report.SetLeft(time.Now(), end)
		if err := delivery.Deliver(ctx, end); err != nil {
			t.Fatal(err)
		}
		stop()
		running.Wait()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
