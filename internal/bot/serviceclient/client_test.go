package serviceclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/serviceclient"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
)

func TestDeliveryIsCompleteAndOrderedDespiteFaults(t *testing.T) {
	t.Parallel()
	s := startService(t)
	s.Set(func() { s.Intercept = s.randomFaults() })
	b := startBotWith(t, s, t.TempDir(), func(settings *serviceclient.Settings) { settings.Timeout = 200 * time.Millisecond })

	var kinds []job.Trigger
	media := map[string]string{}
	step := func(number int) {
		kind := job.BotTriggers()[number%5]
		kinds = append(kinds, kind)
		b.emit(kind)
		media[ingest.SegmentName(0, number)] = strings.Repeat(fmt.Sprint(number), 5000)
		b.record(number, media[ingest.SegmentName(0, number)])
		media[ingest.ReportName] = fmt.Sprintf(`{"segments":%d}`, number)
		b.put(media[ingest.ReportName])
	}
	for number := range 10 {
		step(number)
	}
	for round := range 3 {
		s.Await("partial delivery", func() bool { return len(s.Events) > round*10 && len(s.Media) > round*10 })
		s.Kill()
		for number := range 10 { // while the service is away
			step(10 + round*10 + number)
		}
		s.Restart()
	}
	b.flush()

	s.Lock()
	defer s.Unlock()
	if got := s.EventKinds(); !slices.Equal(got, kinds) {
		t.Errorf("the service applied\n%v, want\n%v", got, kinds)
	}
	if !slices.IsSortedFunc(s.Events, func(a, b ingest.Event) int { return a.EmittedAt.Compare(b.EmittedAt) }) {
		t.Error("the times of events are out of order")
	}
	if !maps.Equal(s.Media, media) {
		t.Errorf("the service holds %v", slices.Sorted(maps.Keys(s.Media)))
	}
	select {
	case <-b.client.Done():
		t.Errorf("faults terminated the bot: %+v", b.client.Termination())
	default:
	}
}

func TestRestartedBotContinues(t *testing.T) {
	t.Parallel()
	s, dir := startService(t), t.TempDir()
	first := startBot(t, s, dir)
	first.emit(job.BotJoined)
	first.record(0, "zero")
	first.put("{}")
	first.flush()

	s.Set(func() { s.Intercept = func(w http.ResponseWriter, _ *http.Request) bool { reset(w); return true } })
	first.emit(job.BotInMeeting, job.BotRecordingStarted)
	first.record(1, "one")
	first.kill()
	first.awaitEnd()

	s.Set(func() { s.Intercept = nil })
	second := startBot(t, s, dir)
	second.emit(job.BotRecordingStopped)
	second.flush()

	s.Lock()
	defer s.Unlock()
	want := []job.Trigger{job.BotJoined, job.BotInMeeting, job.BotRecordingStarted, job.BotRecordingStopped}
	// One request of the killed bot may still arrive, and is repeated.
	if !slices.Equal(s.EventKinds(), want) || s.Duplicates > 1 {
		t.Errorf("applied %v and received %d duplicates, want %v and at most 1", s.EventKinds(), s.Duplicates, want)
	}
	for name, most := range map[string]int{ingest.SegmentName(0, 0): 1, ingest.SegmentName(0, 1): 2, ingest.ReportName: 1} {
		if times := s.Uploads[name]; times < 1 || times > most {
			t.Errorf("%s was uploaded %d times, want 1 to %d", name, times, most)
		}
	}
}

// TestDirectUploads: files go to the object store without the bot's token, but for the report; what the store refuses, or when
// it is out of reach, goes to the service.
func TestDirectUploads(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	direct, refused := map[string]string{}, map[string]bool{}
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		name := path.Base(r.URL.Path)
		switch {
		case err != nil || r.Method != http.MethodPut || r.Header.Get("If-None-Match") != "*" || len(r.Header["Authorization"]) > 0 ||
			len(r.Header[http.CanonicalHeaderKey(ingest.AttemptHeader)]) > 0 || r.ContentLength != int64(len(body)):
			t.Errorf("the store got %s %s %v (%v)", r.Method, r.URL, r.Header, err)
		case refused[name]:
			w.WriteHeader(http.StatusPreconditionFailed)
		default:
			direct[name] = string(body)
		}
	}))
	defer store.Close()
	for how, address := range map[string]string{"in reach": store.URL, "out of reach": "http://127.0.0.1:1"} {
		t.Run(how, func(t *testing.T) {
			clear(direct)
			s := startService(t)
			s.Set(func() {
				s.Sign = func(u ingest.DirectUpload) ingest.SignedUpload {
					return ingest.SignedUpload{
						URL: address + "/" + u.Name + "?signature=a-secret", Headers: http.Header{"If-None-Match": {"*"}},
					}
				}
			})
			b := startBot(t, s, t.TempDir())
			b.put("{}")
			b.record(0, "zero")
			b.record(1, "one")
			b.flush()
			mu.Lock()
			refused[ingest.SegmentName(0, 2)] = true
			mu.Unlock()
			b.record(2, "two")
			b.flush()
			b.record(3, "three") // the service takes all files for a while
			b.flush()
			mu.Lock()
			defer mu.Unlock()
			s.Lock()
			defer s.Unlock()
			all := maps.Clone(direct)
			for name, content := range s.Media {
				if _, twice := direct[name]; twice {
					t.Errorf("%s was sent twice", name)
				}
				all[name] = content
			}
			want := map[string]string{
				ingest.ReportName: "{}", ingest.SegmentName(0, 0): "zero", ingest.SegmentName(0, 1): "one", ingest.SegmentName(0, 2): "two",
				ingest.SegmentName(0, 3): "three",
			}
			if !maps.Equal(all, want) {
				t.Errorf("%v is stored, want %v", all, want)
			}
			if toStore := slices.Sorted(maps.Keys(direct)); how == "in reach" && !slices.Contains(toStore, ingest.SegmentName(0, 0)) ||
				how != "in reach" && len(toStore) > 0 || slices.Contains(toStore, ingest.SegmentName(0, 3)) {
				t.Errorf("the store has %v", toStore)
			}
			if log := b.log.String(); strings.Contains(log, "a-secret") {
				t.Errorf("the log has the signature: %s", log)
			}
		})
	}
}

func TestManifestFinalizedWaitsForMedia(t *testing.T) {
	t.Parallel()
	s := startService(t)
	s.Set(func() {
		s.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return r.Method == http.MethodPut
		}
	})
	b := startBot(t, s, t.TempDir())
	b.record(0, "zero")
	b.put("{}")
	b.emit(job.BotMediaUploading, job.ManifestFinalized)
	s.Await("uploads are retried", func() bool { return s.RequestCount("PUT") > 6 && len(s.Events) == 1 })

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.client.FlushMedia(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("FlushMedia with files waiting and its context ended: %v", err)
	}
	s.Lock()
	if slices.Contains(s.EventKinds(), job.ManifestFinalized) {
		t.Error("manifest.finalized was sent before the media")
	}
	s.Unlock()
	s.Set(func() { s.Intercept = nil })
	b.flush()
	s.Lock()
	defer s.Unlock()
	last := s.Requests[len(s.Requests)-1]
	for _, request := range slices.Backward(s.Requests) {
		if !strings.Contains(request, ingest.HeartbeatPath) {
			last = request
			break
		}
	}
	if last != "POST "+ingest.EventPath || len(s.Media) != 2 {
		t.Errorf("the last request is %q with %d files uploaded", last, len(s.Media))
	}
}

func TestRefusedEventIsRejected(t *testing.T) {
	t.Parallel()
	for code, status := range map[string]int{"invalid_input": http.StatusBadRequest, "quota_exceeded": http.StatusTooManyRequests} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s := startService(t)
			s.Set(func() {
				var before atomic.Bool
				s.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
					if r.URL.Path != ingest.EventPath || before.Swap(true) {
						return false
					}
					refuse(w, status, code)
					return true
				}
			})
			b := startBot(t, s, t.TempDir())
			b.emit(job.BotJoined, job.BotInMeeting)
			b.flush()
			s.Lock()
			defer s.Unlock()
			if !slices.Equal(s.EventKinds(), []job.Trigger{job.BotInMeeting}) {
				t.Errorf("applied %v, want only the second event", s.EventKinds())
			}
			if !strings.Contains(b.log.String(), "rejected") {
				t.Error("the refusal is not in the log")
			}
		})
	}
}

// TestEarlyEventsAreRepeated checks that a bot whose clock is ahead of the service's
// repeats its events until joinAt.
func TestEarlyEventsAreRepeated(t *testing.T) {
	t.Parallel()
	s := startService(t)
	var refused atomic.Int32
	s.Set(func() {
		s.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != ingest.EventPath || refused.Add(1) > 3 {
				return false
			}
			refuse(w, http.StatusTooEarly, string(job.TooEarly))
			return true
		}
	})
	b := startBot(t, s, t.TempDir())
	b.emit(job.BotJoined, job.BotInMeeting)
	b.flush()
	s.Lock()
	defer s.Unlock()
	if got := s.EventKinds(); !slices.Equal(got, []job.Trigger{job.BotJoined, job.BotInMeeting}) {
		t.Errorf("applied %v", got)
	}
}

func TestRefusedFilesAreRejected(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		code   string
		tries  int
	}{
		"other content":  {http.StatusConflict, "invalid_state", 1},
		"too large":      {http.StatusRequestEntityTooLarge, "payload_too_large", 1},
		"invalid body":   {http.StatusBadRequest, "invalid_input", 5},
		"quota of files": {http.StatusTooManyRequests, "quota_exceeded", 1},
		"quota of bytes": {http.StatusInsufficientStorage, "quota_exceeded", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startService(t)
			bad := ingest.SegmentName(0, 1)
			s.Set(func() {
				s.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
					if strings.HasSuffix(r.URL.Path, bad) {
						refuse(w, test.status, test.code)
						return true
					}
					return false
				}
			})
			b := startBot(t, s, t.TempDir())
			for sequence := range 3 {
				b.record(sequence, "data")
			}
			b.flush()
			s.Lock()
			defer s.Unlock()
			if s.RequestCount(bad) != test.tries || len(s.Media) != 2 {
				t.Errorf("tried %d times, want %d; %d other files arrived, want 2", s.RequestCount(bad), test.tries, len(s.Media))
			}
			if !slices.Equal(b.spool.RejectedFiles(), []string{bad}) {
				t.Errorf("rejected files: %v", b.spool.RejectedFiles())
			}
		})
	}
}

// TestLostFileIsRejected removes a file between two tries of its upload.
func TestLostFileIsRejected(t *testing.T) {
	t.Parallel()
	s, lost := startService(t), ingest.SegmentName(0, 0)
	b := startBot(t, s, t.TempDir())
	s.Set(func() {
		s.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, lost) {
				return false
			}
			if err := removeSegment(b.spool, 0); err != nil {
				t.Error(err)
			}
			refuse(w, http.StatusServiceUnavailable, "unavailable")
			return true
		}
	})
	b.record(0, "zero")
	b.record(1, "one")
	b.flush()
	if got := b.spool.RejectedFiles(); !slices.Equal(got, []string{lost}) {
		t.Errorf("rejected files: %v", got)
	}
}

func TestStalledUploadIsRetried(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := startBotWith(t, s, t.TempDir(), func(settings *serviceclient.Settings) { settings.Timeout = 100 * time.Millisecond })
	gone := make(chan struct{})
	s.Set(func() {
		var before atomic.Bool
		s.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPut || before.Swap(true) {
				return false
			}
			_, _ = io.Copy(io.Discard, r.Body) // without a response
			<-r.Context().Done()
			close(gone)
			return true
		}
	})
	b.record(0, "small")
	b.flush()
	select {
	case <-gone:
	case <-time.After(2 * time.Minute):
		t.Error("the connection of the stalled upload was not closed")
	}
}

func TestLargeFileIsStreamed(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := startBot(t, s, t.TempDir())
	large := strings.Repeat("0123456789abcdef", 3<<16) // 3 MiB: sent with Expect: 100-continue
	b.record(0, large)
	if err := b.spool.Put("empty.txt", nil); err != nil {
		t.Fatal(err)
	}
	b.flush()
	s.Lock()
	defer s.Unlock()
	empty, there := s.Media["empty.txt"]
	if s.Media[ingest.SegmentName(0, 0)] != large || empty != "" || !there {
		t.Errorf("%d of %d bytes arrived, empty file: %t", len(s.Media[ingest.SegmentName(0, 0)]), len(large), there)
	}
}

func TestNoSecretLeaves(t *testing.T) {
	t.Parallel()
	s := startService(t)
	s.Set(func() { s.Intercept = s.randomFaults() })
	b := startBotWith(t, s, t.TempDir(), func(settings *serviceclient.Settings) { settings.Timeout = 100 * time.Millisecond })
	for number := range 10 {
		b.emit(job.BotJoined)
		b.record(number, "data")
	}
	b.flush()
	s.Set(func() {
		s.Intercept = func(w http.ResponseWriter, _ *http.Request) bool { refuse(w, 401, "unauthorized"); return true }
	})
	b.emit(job.BotExited)
	b.awaitTermination()
	b.awaitEnd()
	s.Lock()
	defer s.Unlock()
	if strings.Contains(b.log.String(), token) || strings.Contains(strings.Join(s.Requests, "\n"), token) {
		t.Error("the token is in the log or in a URL")
	}
}

func TestTheTokenFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	s, other := startService(t), startService(t)
	s.Set(func() {
		s.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, other.URL()+r.URL.RequestURI(), http.StatusTemporaryRedirect)
			return true
		}
	})
	b := startBot(t, s, t.TempDir())
	b.emit(job.BotJoined)
	b.record(0, "zero")
	s.Await("each is tried again", func() bool {
		return s.RequestCount(ingest.HeartbeatPath) > 2 && s.RequestCount("PUT") > 2 && s.RequestCount("POST "+ingest.EventPath) > 6
	})
	other.Lock()
	defer other.Unlock()
	if len(other.Requests) > 0 {
		t.Errorf("another host was asked: %v", other.Requests)
	}
}

func TestNewChecksSettings(t *testing.T) {
	t.Parallel()
	ownSpool, err := spool.Open(t.TempDir(), spool.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	good := serviceclient.Settings{ServiceURL: "https://standin.example/base/", JobID: jobID, Token: token, Spool: ownSpool}
	for name, change := range map[string]func(*serviceclient.Settings){
		"no URL":           func(s *serviceclient.Settings) { s.ServiceURL = "" },
		"relative URL":     func(s *serviceclient.Settings) { s.ServiceURL = "/api" },
		"other scheme":     func(s *serviceclient.Settings) { s.ServiceURL = "ftp://standin.example" },
		"secret in URL":    func(s *serviceclient.Settings) { s.ServiceURL = "https://user:secret@standin.example" },
		"no UUID":          func(s *serviceclient.Settings) { s.JobID = "../other" },
		"no token":         func(s *serviceclient.Settings) { s.Token = "" },
		"token of 2 lines": func(s *serviceclient.Settings) { s.Token = "a\nb" },
	} {
		settings := good
		change(&settings)
		if _, err := serviceclient.New(settings); err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: the error contains a secret: %v", name, err)
		}
	}
	if _, err := serviceclient.New(good); err != nil {
		t.Errorf("good settings: %v", err)
	}
	good.Attempt = 1
	if _, err := serviceclient.New(good); err == nil {
		t.Error("the spool of another attempt was accepted")
	}
}

// TestOutput checks that a bot waits for its turn to read what it plays, and not for a
// service that cannot make it.
func TestOutput(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader([]int{http.StatusTooManyRequests, http.StatusTooManyRequests, http.StatusOK, http.StatusServiceUnavailable}[asked.Add(1)-1])
		_, _ = io.WriteString(w, "sound")
	}))
	t.Cleanup(server.Close)
	s, err := spool.Open(t.TempDir(), spool.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	client, err := serviceclient.New(serviceclient.Settings{
		ServiceURL: server.URL, JobID: jobID, Token: token, Spool: s, RetryMin: time.Millisecond, RetryMax: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if sound, err := client.Output(t.Context(), ingest.OnJoinOutput); string(sound) != "sound" || asked.Load() != 3 {
		t.Errorf("after %d requests, the sound is %q, %v", asked.Load(), sound, err)
	}
	if _, err := client.Output(t.Context(), ingest.OnJoinOutput); err == nil || asked.Load() != 4 {
		t.Errorf("a sound that cannot be made: %v", err)
	}
}
