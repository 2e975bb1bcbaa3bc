package session

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/recording"
	"standin/internal/recording/build"
	"standin/internal/replica/rtmsdouble"
	"standin/internal/testing/await"
	"standin/internal/testing/ingesttest"
	"standin/internal/testing/mediacheck"
)

var (
	zoomServer = sync.OnceValues(rtmsdouble.StartTrusted)
	zoomVideo  = sync.OnceValues(func() ([][]byte, error) { return rtmsdouble.MakeVideo(640, 360) })
	zoomAda    = rtmsdouble.Person{ID: 16778240, Name: "Ada", Tone: 440}
	zoomBen    = rtmsdouble.Person{ID: 33556610, Name: "Ben", Tone: 660}
)

// zoomBot is a bot in a meeting of the double, with a fake service of its own.
type zoomBot struct {
	*testing.T
	meeting  *rtmsdouble.Meeting
	service  *ingesttest.Service
	settings Settings
	stop     context.CancelFunc
	done     chan error
}

// startZoom starts a bot in a meeting with Ada, who talks.
func startZoom(t *testing.T, of rtmsdouble.Settings, configure func(*Settings)) *zoomBot {
	t.Helper()
	if err := mediacheck.Available(); err != nil {
		t.Skip(err)
	}
	double, err := zoomServer()
	if err != nil {
		t.Fatal(err)
	}
	token := ingest.Token([]byte("a signing key"), testJob, 0)
	b := &zoomBot{T: t, meeting: double.Open(of), service: ingesttest.Start(t, testJob, 0, token), done: make(chan error, 1)}
	b.meeting.Join(zoomAda)
	b.meeting.Talk(zoomAda.ID)
	b.settings = Settings{
		BotConfig: launch.BotConfig{
			Assignment: launch.Assignment{
				JobID: uuid.MustParse(testJob), Token: token, ServiceURL: b.service.URL(), MeetingURL: "https://zoom.us/j/1", Platform: job.ZoomSDK,
				DisplayName: "Standin", LoopbackPeers: true, ZoomStream: b.meeting.Stream(),
				AutoLeave: job.AutoLeave{AfterEntryDelaySeconds: 60, AfterSilenceSeconds: 600, AfterSoloSeconds: 600, AfterMaxSeconds: 600},
			},
			BotSettings: launch.BotSettings{Recording: launch.Recording{
				FrameRate: 25, ParticipantAudio: launch.ParticipantAudioOn, Chat: launch.TextsOn, Captions: launch.TextsOn,
			}},
			Dir: t.TempDir(),
		},
		Timeouts: Timeouts{RejoinPause: 50 * time.Millisecond, MaxRejoins: 2, Settle: time.Second, Leave: 10 * time.Second},
		Version:  "v9", Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if configure != nil {
		configure(&b.settings)
	}
	var ctx context.Context
	ctx, b.stop = context.WithCancel(t.Context())
	go func() { b.done <- Run(ctx, b.settings) }()
	t.Cleanup(func() { b.stop() })
	return b
}

// await waits for the n-th event of a kind.
func (b *zoomBot) await(kind job.Trigger, n int) (found ingest.Event) {
	b.Helper()
	b.service.Await(string(kind), func() bool {
		count := 0
		for _, event := range b.service.Events {
			if event.Kind == kind {
				if count++; count == n {
					found = event
				}
			}
		}
		return count >= n
	})
	return found
}

// command sends a command and returns why it failed.
func (b *zoomBot) command(kind ingest.CommandKind, args any) (failure string) {
	b.Helper()
	id := "command-" + strconv.Itoa(b.service.RequestCount(""))
	b.service.QueueCommand(id, kind, args)
	b.service.Await(string(kind), func() bool {
		failure = b.service.Failed[id]
		return slices.Contains(b.service.Acked, id)
	})
	return failure
}

// result waits for the end, and returns its event and the report.
func (b *zoomBot) result() (ingest.EventData, build.FinalReport) {
	b.Helper()
	select {
	case err := <-b.done:
		if err != nil {
			b.Fatalf("Run: %v", err)
		}
	case <-time.After(harnessTimeout):
		b.Fatal("the bot did not end")
	}
	var report build.FinalReport
	if text, ok := b.service.Uploaded(ingest.ReportName); ok {
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			b.Fatal(err)
		}
	}
	return ingest.ParseEventData(b.await(job.BotExited, 1).Data), report
}

// file returns an uploaded file.
func (b *zoomBot) file(name string) string {
	b.Helper()
	text, ok := b.service.Uploaded(name)
	if !ok {
		b.Fatalf("%s is not uploaded", name)
	}
	path := filepath.Join(b.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// pcm decodes a file to samples of 48 kHz.
func (b *zoomBot) pcm(name string) []byte {
	b.Helper()
	decoded, err := exec.CommandContext(b.Context(), "ffmpeg", "-nostdin", "-v", "error", "-i", b.file(name), "-f", "s16le", "-ac", "1", "-ar", "48000", "-").Output()
	if err != nil {
		b.Fatalf("decode %s: %v", name, err)
	}
	return decoded
}

// checkVoice checks that the files of a person have all packets of his within a time, each at its place.
func (b *zoomBot) checkVoice(report build.FinalReport, who rtmsdouble.Person, from, to time.Time) {
	b.Helper()
	var sound [][]byte
	for _, track := range report.PackedTracks {
		at := slices.IndexFunc(report.AudioTracks, func(a ingest.AudioTrack) bool { return a.Number == track.Number })
		if reported := report.AudioTracks[at]; reported.PersonID == strconv.Itoa(who.ID) && reported.Kind == "" {
			sound = append(sound, b.pcm(track.File))
		}
	}
	packets := slices.DeleteFunc(b.meeting.Packets(), func(p rtmsdouble.Packet) bool {
		return p.Person != who.ID || p.At.Before(from) || !p.At.Before(to)
	})
	if missing, misplaced := rtmsdouble.Check(packets, sound); len(packets) == 0 || missing > 0 || misplaced > 0 {
		b.Errorf("%s: %d packets, %d missing, %d misplaced, in %d files", who.Name, len(packets), missing, misplaced, len(sound))
	}
}

// TestZoom: a bot without a browser records everybody's sound, the active speaker's video and the shared screen, each with
// its person, and pauses; what streams cannot do is refused with a sentence.
func TestZoom(t *testing.T) {
	t.Parallel()
	began := time.Now()
	b := startZoom(t, rtmsdouble.Settings{}, nil)
	frames, err := zoomVideo()
	if err != nil {
		t.Fatal(err)
	}
	b.meeting.Join(zoomBen)
	b.meeting.Camera(zoomAda.ID, frames)
	b.meeting.Share(zoomBen.ID, frames)
	b.await(job.BotRecordingStarted, 1)
	b.meeting.Talk(zoomAda.ID, zoomBen.ID)
	for range 3 {
		b.meeting.Pass(500 * time.Millisecond)
		b.meeting.Say(zoomBen.ID, "The launch is on Friday", time.Now().Add(-time.Second), time.Now())
		b.meeting.Write(zoomAda.ID, "Great")
	}
	for _, kind := range pageCommands {
		if failure := b.command(kind, map[string]string{"text": "hello"}); !strings.Contains(failure, "only be received") {
			t.Errorf("%s: %q", kind, failure)
		}
	}
	if err := b.meeting.Drain(b.Context()); err != nil {
		b.Fatal(err)
	}
	pausing := time.Now()
	if failure := b.command(ingest.PauseRecording, nil); failure != "" {
		t.Error(failure)
	}
	paused := time.Now()
	b.meeting.Say(zoomAda.ID, "This is confidential", time.Now(), time.Now())
	b.meeting.Pass(time.Second)
	resuming := time.Now()
	if failure := b.command(ingest.ResumeRecording, nil); failure != "" {
		t.Error(failure)
	}
	resumed := time.Now()
	b.meeting.Pass(1500 * time.Millisecond)
	ended := time.Now()
	b.meeting.Talk()
	if err := b.meeting.Drain(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.meeting.Stop(6)
	exited, report := b.result()
	if exited.EndReason != "host_ended" || !strings.Contains(exited.Detail, "the meeting ended (reason 6)") {
		t.Errorf("%+v", exited)
	}
	kinds := map[recording.MediaKind]int{}
	for _, file := range report.Media {
		kinds[file.Kind]++
		t.Logf("%s %s %s %d ms %dx%d", file.Name, file.Kind, file.Codecs, file.DurationMs, file.Width, file.Height)
	}
	if kinds[recording.Audio] != 1 || kinds[recording.ParticipantAudio] != 4 || kinds[recording.ParticipantVideo] < 1 || kinds[recording.ScreenShare] < 1 {
		t.Errorf("files %v", kinds)
	}
	b.checkVoice(report, zoomAda, began, pausing.Add(-400*time.Millisecond))
	b.checkVoice(report, zoomAda, resumed.Add(200*time.Millisecond), ended)
	b.checkVoice(report, zoomBen, resumed.Add(200*time.Millisecond), ended)
	for _, p := range b.meeting.Packets() {
		if p.At.After(paused.Add(200*time.Millisecond)) && p.At.Before(resuming) {
			for _, file := range report.Media {
				if file.Kind == recording.ParticipantAudio && bytes.Contains(b.pcm(file.Name), p.PCM) {
					t.Fatalf("%s has a packet of the pause", file.Name)
				}
			}
			break
		}
	}
	var captions, chats, confidential int
	for _, text := range b.service.Texts {
		switch {
		case text.Kind == job.CaptionText && text.ParticipantID == "33556610":
			captions++
		case text.Kind == job.ChatText && text.ParticipantID == "16778240":
			chats++
		default:
			confidential++
		}
	}
	if captions != 3 || chats != 3 || confidential != 0 {
		t.Errorf("%d captions, %d messages, %d others", captions, chats, confidential)
	}
	for _, who := range []string{"16778240", "33556610"} {
		if !slices.ContainsFunc(report.Speech, func(s ingest.Speech) bool { return s.PersonID == who && s.To.Sub(s.From) > time.Second }) {
			t.Errorf("%s did not speak: %+v", who, report.Speech)
		}
	}
}

// TestZoomEnds: how a stream ends is how the meeting ended; a revoked one leaves nothing.
func TestZoomEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		configure func(*Settings)
		during    func(*zoomBot)
		reason    string
		code      job.FailureCode
		detail    string
	}{
		"ejected": {
			during: func(b *zoomBot) { b.meeting.Stop(4) }, reason: "removed", detail: "removed from the meeting (reason 4)",
		},
		"revoked": {
			during: func(b *zoomBot) { b.meeting.Stop(8) }, reason: "revoked", code: job.RecordingDisabled, detail: "must be deleted (reason 8)",
		},
		"leave": {
			during: func(b *zoomBot) { b.command(ingest.LeaveCall, nil) }, reason: "left_on_command",
		},
		"alone": {
			configure: func(s *Settings) { s.AutoLeave.AfterSoloSeconds = 1 },
			during:    func(b *zoomBot) { b.meeting.Leave(zoomAda.ID) }, reason: "alone",
		},
		"silence": {
			configure: func(s *Settings) { s.AutoLeave.AfterSilenceSeconds = 2 },
			during:    func(b *zoomBot) { b.meeting.Talk() }, reason: "silence",
		},
		"permission": {
			configure: func(s *Settings) { s.RequirePermission = true }, code: job.RecordingDisabled, reason: "permission_refused", detail: "only be received",
		},
		"nothing recorded": {
			configure: func(s *Settings) { s.Recording.Mode = job.RecordNothing },
			during:    func(b *zoomBot) { b.await(job.BotInMeeting, 1); b.meeting.Stop(6) }, reason: "host_ended",
		},
		"no stream": {
			configure: func(s *Settings) { s.ZoomStream = nil }, code: job.InternalError, detail: "no media stream",
		},
		"an unknown stream": {
			configure: func(s *Settings) { s.ZoomStream.StreamID = "another" }, code: job.MeetingEnded, detail: "the stream is unknown or has ended (status 2)",
		},
		"no server": {
			configure: func(s *Settings) {
				s.ZoomStream.ServerURLs, s.Timeouts.Join, s.Timeouts.MaxRejoins = "wss://127.0.0.1:1", time.Second, -1
			},
			code: job.NetworkLoss, detail: "Zoom's server does not respond",
		},
		"a wrong signature": {
			configure: func(s *Settings) { s.ZoomStream.Signature = "another" }, code: job.AuthFailure,
			detail: "Zoom refuses the connection: the signature is wrong: the client secret",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startZoom(t, rtmsdouble.Settings{}, test.configure)
			if test.during != nil {
				if name != "nothing recorded" {
					b.await(job.BotRecordingStarted, 1)
					b.meeting.Pass(1500 * time.Millisecond)
				}
				test.during(b)
			}
			exited, report := b.result()
			if exited.EndReason != test.reason || exited.FailureCode != string(test.code) || !strings.Contains(exited.Detail+exited.FailureDetail, test.detail) {
				t.Errorf("%+v", exited)
			}
			kinds := b.service.EventKinds()
			if packed := test.code == "" && name != "nothing recorded"; packed != (len(report.Media) > 0) || packed != slices.Contains(kinds, job.BotPostProcessing) {
				t.Errorf("files %+v, events %v", report.Media, kinds)
			}
			if name == "leave" && !b.meeting.Over() {
				t.Error("the stream was not closed")
			}
		})
	}
}

// TestZoomLosesConnections: what Zoom has kept while the connections were lost is in the files; what it has not kept is a
// gap.
func TestZoomLosesConnections(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings rtmsdouble.Settings
		cut      func(*rtmsdouble.Meeting)
		lost     bool
	}{
		"kept":          {cut: func(m *rtmsdouble.Meeting) { m.Cut(rtmsdouble.Audio) }},
		"signaling":     {cut: func(m *rtmsdouble.Meeting) { m.Cut() }},
		"twice, late":   {cut: func(m *rtmsdouble.Meeting) { m.Twice(true); m.Delay(100 * time.Millisecond); m.Cut() }},
		"not kept":      {rtmsdouble.Settings{Buffer: -1}, func(m *rtmsdouble.Meeting) { m.Refuse(8, 8, 8, 8); m.Cut() }, true},
		"for some time": {cut: func(m *rtmsdouble.Meeting) { m.Refuse(8, 8, 8, 8); m.Cut() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startZoom(t, test.settings, nil)
			b.await(job.BotRecordingStarted, 1)
			b.meeting.Pass(time.Second)
			began := time.Now().Add(-500 * time.Millisecond)
			test.cut(b.meeting)
			await.Until(t, "the loss of the connection", func() bool { return !b.meeting.Connected(rtmsdouble.Audio) })
			await.Until(t, "another connection", func() bool { return b.meeting.Connected(rtmsdouble.Audio) })
			b.meeting.Pass(1500 * time.Millisecond)
			ended := time.Now()
			b.meeting.Talk()
			if err := b.meeting.Drain(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.meeting.Stop(6)
			exited, report := b.result()
			if exited.EndReason != "host_ended" || len(report.Parts) != 1 {
				t.Errorf("%+v, %d parts", exited, len(report.Parts))
			}
			lost := slices.ContainsFunc(report.Gaps, func(g ingest.Gap) bool { return g.Reason == recording.GapNetworkLost && g.To.Sub(g.From) > time.Second })
			long := func(g ingest.Gap) bool { return g.To.Sub(g.From) > 100*time.Millisecond } // as in a manifest
			if lost != test.lost || !test.lost && slices.ContainsFunc(report.Gaps, long) {
				t.Errorf("gaps %+v", report.Gaps)
			}
			if !test.lost {
				b.checkVoice(report, zoomAda, began, ended)
			}
		})
	}
}

// TestZoomRejoins: a bot that gets no connection for long begins anew, with what Zoom has kept.
func TestZoomRejoins(t *testing.T) {
	t.Parallel()
	b := startZoom(t, rtmsdouble.Settings{}, func(s *Settings) { s.Timeouts.Connection = time.Second })
	b.await(job.BotRecordingStarted, 1)
	b.meeting.Pass(time.Second)
	began := time.Now().Add(-700 * time.Millisecond)
	b.meeting.Refuse(8, 8, 8, 8, 8, 8)
	b.meeting.Cut()
	cut := time.Now()
	b.await(job.BotRecordingStarted, 2)
	b.meeting.Pass(1500 * time.Millisecond)
	ended := time.Now()
	b.meeting.Talk()
	if err := b.meeting.Drain(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.meeting.Stop(6)
	exited, report := b.result()
	if exited.EndReason != "host_ended" || len(report.Parts) != 2 || len(report.Media) == 0 {
		t.Fatalf("%+v %+v", exited, report.Parts)
	}
	if between := report.Parts[1].StartedAt.Sub(report.Parts[0].EndedAt); between < -100*time.Millisecond || between > 300*time.Millisecond {
		t.Errorf("%s are between the parts %+v", between, report.Parts)
	}
	b.checkVoice(report, zoomAda, began, cut.Add(-200*time.Millisecond))
	b.checkVoice(report, zoomAda, cut.Add(200*time.Millisecond), ended)
}

// TestZoomIsLeftToAnotherBot: a bot that is stopped does not close the stream, and the next attempt has what was said
// between them.
func TestZoomIsLeftToAnotherBot(t *testing.T) {
	t.Parallel()
	b := startZoom(t, rtmsdouble.Settings{}, nil)
	b.await(job.BotRecordingStarted, 1)
	b.meeting.Pass(time.Second)
	b.stop()
	if exited, _ := b.result(); exited.EndReason != ingest.EndStopped || b.meeting.Over() {
		t.Fatalf("%+v", exited)
	}
	next := &zoomBot{T: t, meeting: b.meeting, done: make(chan error, 1), settings: b.settings}
	token := ingest.Token([]byte("a signing key"), testJob, 1)
	next.service = ingesttest.Start(t, testJob, 1, token)
	next.settings.Attempt, next.settings.Token, next.settings.ServiceURL, next.settings.Dir = 1, token, next.service.URL(), t.TempDir()
	b.meeting.Pass(time.Second)
	began := time.Now()
	go func() { next.done <- Run(t.Context(), next.settings) }()
	next.await(job.BotRecordingStarted, 1)
	b.meeting.Pass(time.Second)
	next.meeting.Stop(6)
	if _, report := next.result(); report.Parts[0].StartedAt.After(began.Add(-800 * time.Millisecond)) {
		t.Errorf("the recording goes on at %s, although the next bot began at %s", report.Parts[0].StartedAt, began)
	}
}
