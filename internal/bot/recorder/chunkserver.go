package recorder

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// largestChunk bounds one chunk. Two seconds are about 300 KB; a tab that
	// was held up for a minute delivers about 10 MB at once.
	largestChunk = 64 << 20

	// largestReport bounds the small messages of the recorder tab.
	largestReport = 4 << 10

	// readTimeout bounds one request over the loopback interface.
	readTimeout = 30 * time.Second
)

// Stats tell how a recording is going.
type Stats struct {
	// Chunks and Bytes were taken by the sink.
	Chunks int
	Bytes  int64
	// LastChunkAt is when the sink took the last chunk.
	LastChunkAt time.Time
	// Recorded is how much of the recording those chunks make up.
	Recorded time.Duration
	// LongestGap is the longest time between two chunks, pauses left out.
	LongestGap time.Duration
	// LastSoundAt is when the page last made a sound; zero if never.
	LastSoundAt time.Time
	// LastReportAt is when the recorder tab last told of sound and silence.
	LastReportAt time.Time
	// Level is the greatest loudness within the last second, as root mean
	// square of samples between -1 and 1.
	Level float64
	// Queued is how many chunks wait in the browser.
	Queued int
	// Width and Height are the captured picture's size.
	Width, Height int
}

// Reasons for an end that the recorder tab reports; others are failures of the
// encoder.
const (
	reasonStopped      = "stopped"
	reasonCaptureEnded = "capture_ended"
)

// endReport is the recorder tab's word that all is sent.
type endReport struct {
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

// err turns the tab's reason into the recording's outcome.
func (e endReport) err() error {
	switch e.Reason {
	case reasonStopped:
		return nil
	case reasonCaptureEnded:
		return ErrCaptureEnded
	default:
		return &EncoderError{Detail: e.Detail}
	}
}

// intake is the bot's listener for the recorder tab, and for nobody else: every
// path starts with a secret, and requests of other origins are refused.
type intake struct {
	sink     Sink
	token    string
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
	withdraw func() // see Settings.AllowAddress
	ended    chan endReport

	appending sync.Mutex // one chunk at a time reaches the sink
	closed    bool       // guarded by appending

	mutex    sync.Mutex
	current  Stats
	running  bool
	flowFrom time.Time // the last chunk, start or resumption
	sinkErr  error     // why the sink refused the chunk that is due
	spoken   bool      // the tab has said its last word
}

// listen opens the intake on a free port of the loopback interface, and lets the
// browser reach it.
func listen(ctx context.Context, settings Settings, sink Sink) (*intake, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the recorder tab: %w", err)
	}
	i := &intake{sink: sink, token: rand.Text(), listener: listener, ended: make(chan endReport, 1)}
	if i.withdraw, err = settings.AllowAddress(listener.Addr().String(), i.path()); err != nil {
		return nil, errors.Join(fmt.Errorf("letting the browser reach the recorder's listener: %w", err), listener.Close())
	}
	i.server = &http.Server{Handler: i.routes(), ReadTimeout: readTimeout, ReadHeaderTimeout: readTimeout}
	i.serving.Go(func() {
		// It ends with ErrServerClosed, by close.
		_ = i.server.Serve(listener)
	})
	return i, nil
}

// address is the recorder tab's page.
func (i *intake) address() string { return i.origin() + i.path() }

// path begins with the secret that only the recorder tab knows.
func (i *intake) path() string { return "/" + i.token + "/" }

func (i *intake) origin() string { return "http://" + i.listener.Addr().String() }

// routes are what the recorder tab asks for.
func (i *intake) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{token}/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", recorderPolicy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		_, _ = io.WriteString(w, recorderPage)
	})
	mux.HandleFunc("GET /{token}/recorder.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(recorderScript)
	})
	mux.HandleFunc("POST /{token}/chunks/{sequence}", i.takeChunk)
	mux.HandleFunc("POST /{token}/pulse", i.takePulse)
	mux.HandleFunc("POST /{token}/end", i.takeEnd)
	return i.onlyRecorderTab(mux)
}

// onlyRecorderTab refuses requests without the secret, and those that another
// page, or a name that resolves to this machine, may have caused.
func (i *intake) onlyRecorderTab(next http.Handler) http.Handler {
	token := []byte(i.path())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := []byte(r.URL.Path)
		if len(path) < len(token) || subtle.ConstantTimeCompare(path[:len(token)], token) != 1 {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		foreign := r.Method == http.MethodPost && r.Header.Get("Origin") != i.origin()
		if r.Host != i.listener.Addr().String() || foreign {
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// takeChunk hands the chunk that is due to the sink. A chunk that comes again,
// because its acknowledgement was lost, is acknowledged again.
func (i *intake) takeChunk(w http.ResponseWriter, r *http.Request) {
	sequence, err := strconv.Atoi(r.PathValue("sequence"))
	if err != nil || sequence < 0 {
		http.Error(w, "malformed sequence", http.StatusBadRequest)
		return
	}
	offset, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
	if err != nil || offset < 0 {
		http.Error(w, "malformed offset", http.StatusBadRequest)
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestChunk))
	if err != nil {
		http.Error(w, "unreadable chunk", http.StatusBadRequest)
		return
	}
	i.appending.Lock()
	defer i.appending.Unlock()
	switch due := i.stats().Chunks; {
	case i.closed:
		http.Error(w, "the recording is over", http.StatusGone)
		return
	case sequence < due:
		w.WriteHeader(http.StatusNoContent)
		return
	case sequence > due:
		http.Error(w, "a chunk is missing before this one", http.StatusConflict)
		return
	}
	chunk := Chunk{Sequence: sequence, Data: data, Captured: time.Now(), Offset: time.Duration(offset) * time.Millisecond}
	size := int64(len(data))
	if err := i.sink.Append(chunk); err != nil {
		i.refused(err)
		http.Error(w, "not taken", http.StatusServiceUnavailable)
		return
	}
	i.accepted(chunk.Captured, chunk.Offset, size)
	w.WriteHeader(http.StatusNoContent)
}

// accepted counts a chunk.
func (i *intake) accepted(at time.Time, recorded time.Duration, size int64) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.running && !i.flowFrom.IsZero() {
		i.current.LongestGap = max(i.current.LongestGap, at.Sub(i.flowFrom))
	}
	i.current.Chunks++
	i.current.Bytes += size
	i.current.LastChunkAt = at
	i.current.Recorded = recorded
	i.flowFrom = at
	i.sinkErr = nil
}

// refused remembers why the sink did not take the chunk that is due.
func (i *intake) refused(err error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.sinkErr = err
}

// takePulse notes the recorder tab's regular report.
func (i *intake) takePulse(w http.ResponseWriter, r *http.Request) {
	var pulse struct {
		SoundAgoMs    int64   `json:"soundAgoMs"` // -1: never
		Level         float64 `json:"level"`
		Queued        int     `json:"queued"`
		Width, Height int
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, largestReport)).Decode(&pulse); err != nil {
		http.Error(w, "malformed pulse", http.StatusBadRequest)
		return
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.current.LastReportAt = time.Now()
	if pulse.SoundAgoMs >= 0 {
		i.current.LastSoundAt = i.current.LastReportAt.Add(-time.Duration(pulse.SoundAgoMs) * time.Millisecond)
	}
	i.current.Level = pulse.Level
	if !i.spoken {
		i.current.Queued = pulse.Queued
	}
	i.current.Width, i.current.Height = pulse.Width, pulse.Height
	w.WriteHeader(http.StatusNoContent)
}

// takeEnd passes the tab's last word on. Only the first counts.
func (i *intake) takeEnd(w http.ResponseWriter, r *http.Request) {
	var report endReport
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, largestReport)).Decode(&report); err != nil {
		http.Error(w, "malformed end", http.StatusBadRequest)
		return
	}
	i.drained()
	select {
	case i.ended <- report:
	default:
	}
	w.WriteHeader(http.StatusNoContent)
}

// drained notes that nothing waits in the browser any more: the tab's last word
// comes after the last chunk, whatever a pulse that was on its way says.
func (i *intake) drained() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.spoken, i.current.Queued = true, 0
}

// pause stops the watch over the chunk flow.
func (i *intake) pause() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.running = false
}

// resume starts the watch over the chunk flow.
func (i *intake) resume(now time.Time) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.running, i.flowFrom = true, now
}

// stalled tells whether chunks should have come and did not.
func (i *intake) stalled(now time.Time, limit time.Duration) error {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if !i.running || now.Sub(i.flowFrom) <= limit {
		return nil
	}
	return &StallError{Since: i.flowFrom, Cause: i.sinkErr}
}

func (i *intake) stats() Stats {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.current
}

// close ends the listener. When it returns the sink gets nothing more.
func (i *intake) close() error {
	defer i.withdraw()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err := i.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("closing the recorder tab's listener: %w", err), i.server.Close())
	}
	i.serving.Wait()
	i.appending.Lock()
	defer i.appending.Unlock()
	i.closed = true
	return err
}
