package pagecheck

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/session"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/replica"
	"standin/internal/testing/replicatest"
	"standin/internal/testing/testbrowser"
)

// mutation is a change of a platform's pages: texts of files that become others.
type mutation struct {
	file    string // below assets/
	changes []string
}

// mutations are changes of the pages by what they take from bots. Those without a file are made in
// all files.
var mutations = map[job.Platform]map[string]mutation{
	job.Meet: {
		"names":    {"meet/tiles.js", []string{"`Pin ${participant.name} to", "`Hold ${participant.name} to"}},
		"tiles":    {"meet/tiles.js", []string{"tile.dataset.participantId", "tile.dataset.person"}},
		"speech":   {"meet/tiles.js", []string{`toggle("speaking"`, `toggle("loud"`}},
		"captions": {"meet/captions.js", []string{"nMcdL", "line"}},
		"chat":     {"meet/panels.js", []string{"item.dataset.messageId", "item.dataset.number"}},
		"end":      {"", []string{"You left the meeting", "See you", "Return to home", "Onwards", "Rejoin", "Once more"}},
	},
	job.Teams: {
		"names":    {"teams/tiles.js", []string{"stream.dataset.tid = name;", "", "stream.ariaLabel = name;", ""}},
		"tiles":    {"teams/tiles.js", []string{"calling-participant-stream", "person", `streamType = "Video"`, `streamType = "Film"`}},
		"speech":   {"teams/tiles.js", []string{"vdi-frame-occlusion", "loud"}},
		"captions": {"teams/captions.js", []string{"closed-caption-text", "words"}},
		"chat":     {"teams/panels.js", []string{"chat-pane-message", "message"}},
		"end":      {"", []string{"You left the meeting", "See you", "calling-e2ee-end-screen", "over"}},
	},
	job.ZoomWeb: {
		"names":    {"zoom/tiles.js", []string{"video-avatar__avatar-footer", "foot"}},
		"tiles":    {"", []string{"gallery-video-container__video-frame", "frame", "video-avatar__avatar", "face"}},
		"speech":   {"zoom/tiles.js", []string{"--active`", "--loud`"}},
		"captions": {"zoom/captions.js", []string{"live-transcription-subtitle__item", "words"}},
		"chat":     {"zoom/panels.js", []string{"item.id = `chat-message-", "item.title = `"}},
		"end":      {"", []string{"You have left the meeting", "See you"}},
	},
}

// missing are the checks that find the mutations.
var missing = map[string]string{
	"names": "name", "tiles": "tile", "speech": "speaking", "captions": "captions", "chat": "chat", "end": "end",
}

// TestCanaryMutations changes the pages in what bots read, and checks that the canary names exactly that; pages without changes
// match. The short run makes each change on one platform, several at once.
func TestCanaryMutations(t *testing.T) {
	t.Parallel()
	type visit struct {
		platform job.Platform
		changes  []string
	}
	visits := []visit{{job.Meet, []string{"names", "end"}}, {job.Teams, []string{"tiles", "captions"}}, {job.ZoomWeb, []string{"speech", "chat"}}}
	if !testing.Short() {
		for platform, changes := range mutations {
			visits = append(visits, visit{platform, nil})
			for change := range changes {
				visits = append(visits, visit{platform, []string{change}})
			}
		}
	}
	for _, visit := range visits {
		t.Run(string(visit.platform)+" "+strings.Join(visit.changes, "+"), func(t *testing.T) {
			t.Parallel()
			testbrowser.Reserve(t)
			var want []string
			changed := make([]mutation, 0, len(visit.changes))
			for _, change := range visit.changes {
				changed = append(changed, mutations[visit.platform][change])
				want = append(want, missing[change])
			}
			_, settings := canaryMeeting(t, visit.platform, replica.Settings{NoLobby: true}, changed...)
			report, err := NewCanary(settings).Visit(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, problem := range report.Problems {
				got = append(got, problem.Element+problem.Check)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				var text strings.Builder
				_ = report.WriteText(&text)
				t.Errorf("missing %q, want %q:\n%s", got, want, text.String())
			}
		})
	}
}

// TestCanaryWithoutCompanion visits a meeting whose host admits only one of the bots.
func TestCanaryWithoutCompanion(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	testbrowser.Reserve(t)
	opened, settings := canaryMeeting(t, job.Meet, replica.Settings{})
	settings.Bot.AutoLeave.AfterEntryDelaySeconds = 15
	done := make(chan struct{})
	var admitting sync.WaitGroup
	admitting.Go(func() {
		for tick := time.Tick(100 * time.Millisecond); ; {
			select {
			case <-tick:
			case <-done:
				return
			}
			for _, guest := range opened.Guests() {
				if guest.Name == settings.Bot.DisplayName {
					opened.Admit(guest.ID)
				}
			}
		}
	})
	report, err := NewCanary(settings).Visit(t.Context())
	close(done)
	admitting.Wait()
	if err != nil {
		t.Fatal(err)
	}
	const want = "lobby: the companion was not admitted: not admitted within 15 s; the page shows lobby"
	if len(report.Problems) != 1 || !strings.HasPrefix(report.Problems[0].String(), want) {
		t.Errorf("problems %v, want %s", report.Problems, want)
	}
	for _, check := range report.Checks {
		if check.State != CheckUnchecked {
			t.Errorf("%s is %s", check.Name, check.State)
		}
	}
	for _, guest := range opened.Guests() {
		if guest.State == replica.StateLobby || guest.State == replica.StateAdmitted {
			t.Errorf("guest %q remains in the meeting", guest.Name)
		}
	}
}

// canaryMeeting opens a meeting in which guests see and hear each other, on pages that are changed, and returns the settings of
// a canary that visits it.
func canaryMeeting(t *testing.T, platform job.Platform, settings replica.Settings, changed ...mutation) (*replica.Meeting, CanarySettings) {
	t.Helper()
	executable := testbrowser.Visit(t) // the headless shell has no devices
	settings.Platform = replica.Platform(strings.TrimSuffix(string(platform), "-web"))
	settings.Participants, settings.Relay = []replica.Participant{{Name: replica.Ada, Film: "ada"}}, true
	settings.Recognize = func(context.Context, string) (string, error) { return "the canary sings", nil }
	opened := replicatest.Open(t, settings)
	address, err := url.Parse(opened.URL())
	if err != nil {
		t.Fatal(err)
	}
	target := &url.URL{Scheme: address.Scheme, Host: address.Host}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
		},
		ModifyResponse: func(response *http.Response) error {
			if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/") || strings.HasPrefix(kind, "text/event-stream") {
				return nil
			}
			content, err := io.ReadAll(response.Body)
			if err != nil {
				return err
			}
			for _, mutation := range changed {
				if mutation.file == "" || response.Request.URL.Path == path.Join("/assets", mutation.file) {
					content = []byte(strings.NewReplacer(mutation.changes...).Replace(string(content)))
				}
			}
			response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
			response.Header.Del("Content-Length")
			return nil
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	})
	t.Cleanup(proxy.Close)
	address.Host = strings.TrimPrefix(proxy.URL, "http://")
	autoLeave := job.DefaultAutoLeave()
	autoLeave.AfterEntryDelaySeconds = 60
	return opened, CanarySettings{
		Bot: session.Settings{
			BotConfig: launch.BotConfig{
				Assignment: launch.Assignment{
					MeetingURL: address.String(), Platform: platform, DisplayName: "Canary of Eve", AutoLeave: autoLeave,
					AllowedHosts: []string{address.Host}, LoopbackPeers: true,
				},
				BotSettings: launch.BotSettings{Browser: executable, BrowserMode: string(browser.Headless)},
			},
			Timeouts: session.Timeouts{Leave: 20 * time.Second}, Log: slog.New(slog.DiscardHandler),
		},
		Speech: tone(), Log: slog.New(slog.DiscardHandler),
	}
}

// tone returns a tone of two seconds and a pause, as PCM at 48 kHz.
func tone() []byte {
	const rate, length, pause, pitch, loudness = 48_000, 2, 1.5, 440, 8000
	var pcm []byte
	for i := range rate * length {
		sample := int16(loudness * math.Sin(2*math.Pi*pitch*float64(i)/rate))
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(sample)) //nolint:gosec // two's complement
	}
	return append(pcm, make([]byte, pause*rate*2)...)
}
