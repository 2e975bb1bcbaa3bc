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
	// maxChunkBytes limits one chunk. Two seconds are about 300 KB; a tab that was
	// blocked for a minute sends about 10 MB at once.
	maxChunkBytes = 64 << 20

	// maxReportBytes limits the other messages of the recorder tab.
	maxReportBytes = 16 << 10

	// readTimeout limits one request over the loopback interface.
	readTimeout = 30 * time.Second
)

// Stats contains the statistics of a recording.
type Stats struct {
	// Chunks is the number of stored chunks.
	Chunks int
	// Recorded is their duration.
	Recorded time.Duration
	// LastSoundAt is when the page was last not silent; zero if never.
	LastSoundAt time.Time
	// LastSignalAt is when the page's sound was last not digital silence, that is,
	// when there was at least noise; zero if never.
	LastSignalAt time.Time
	// LastPictureAt is when the captured picture last changed; zero without video.
	LastPictureAt time.Time
	// LastReportAt is when the recorder tab last sent a status report.
	LastReportAt time.Time
	// EndedAt is when the encoder stopped; zero before.
	EndedAt time.Time
	// Width and Height are the size of the captured video.
	Width, Height int
	// SoundChanges are the last beginnings and ends of sound, oldest first.
	SoundChanges []SoundChange
	// SoundGaps are the last gaps of the recorded sound that have ended.
	SoundGaps []SoundGap
	// Streams is whether the video of participants is recorded instead of the picture, and StreamsProblem why not.
	Streams        StreamsState
	StreamsProblem string
}

// SoundGap is time of which the capture has no sound; recorder.js has the limits. The recorded
// file is silent there.
type SoundGap struct {
	From, To time.Time
	// Blank means that the capture was digital silence: either everybody was silent, or the page did
	// not run (Inbound.Unplayed).
	Blank  bool
	Reason string // as in the manifest; empty: the machine did not let the browser run
}

// SoundChange is a beginning or an end of sound above Settings.SoundThreshold. Clicks do not
// begin it, and short pauses do not end it; recorder.js has the limits. Its time is that of
// the recorded sound.
type SoundChange struct {
	At    time.Time
	Sound bool // sound begins; otherwise it ends
}

// maxSoundChanges limits Stats.SoundChanges: those of some seconds.
const maxSoundChanges = 100

// Reasons of the recorder tab for the end of a recording. Any other reason is a
// failure of the encoder.
const (
	reasonStopped        = "stopped"
	reasonCaptureEnded   = "capture_ended"
	reasonStreamsMissing = "streams_missing"
)

// endReport is the recorder tab's last message, after the last chunk: why and when the encoder
// stopped.
type endReport struct {
	Reason, Detail string
	AtMs, AgoMs    float64
}

// err returns the error for the reason.
func (e endReport) err() error {
	switch e.Reason {
	case reasonStopped:
		return nil
	case reasonCaptureEnded:
		return ErrCaptureEnded
	case reasonStreamsMissing:
		return ErrStreamsMissing
	default:
		return &EncoderError{Detail: e.Detail}
	}
}

// chunkServer is the HTTP server for the recorder tab. Every path starts with a
// secret, and requests of other origins are rejected.
type chunkServer struct {
	sink     Sink
	token    string
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
	revoke   func() // undoes Settings.AllowAddress
	ended    chan endReport

	appendMu sync.Mutex // serializes calls of the sink
	closed   bool       // guarded by appendMu

	mu          sync.Mutex
	current     Stats
	running     bool
	activeSince time.Time // the last chunk, start or resumption
	sinkErr     error     // error of the last Append of the next chunk
}

// startChunkServer starts the server on a free loopback port and allows the browser
// to access it.
func startChunkServer(ctx context.Context, settings Settings, sink Sink) (*chunkServer, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &chunkServer{sink: sink, token: rand.Text(), listener: listener, ended: make(chan endReport, 1)}
	if s.revoke, err = settings.AllowAddress(listener.Addr().String(), s.path()); err != nil {
		return nil, errors.Join(fmt.Errorf("allow the browser to access the chunk server: %w", err), listener.Close())
	}
	unused := unusedConnections{all: make(map[net.Conn]bool)}
	s.server = &http.Server{Handler: s.routes(), ReadTimeout: readTimeout, ReadHeaderTimeout: readTimeout, ConnState: unused.update}
	s.server.RegisterOnShutdown(unused.close)
	s.serving.Go(func() {
		// It returns ErrServerClosed after close.
		_ = s.server.Serve(listener)
	})
	return s, nil
}

// unusedConnections are connections without a request. Chromium opens them in advance,
// and Shutdown of http.Server waits for them, for up to five seconds.
type unusedConnections struct {
	mu  sync.Mutex
	all map[net.Conn]bool
}

func (u *unusedConnections) update(conn net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if state == http.StateNew {
		u.all[conn] = true
	} else {
		delete(u.all, conn)
	}
}

func (u *unusedConnections) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for conn := range u.all {
		_ = conn.Close()
	}
}

// path returns the path prefix, which contains the secret.
func (s *chunkServer) path() string { return "/" + s.token + "/" }

func (s *chunkServer) origin() string { return "http://" + s.listener.Addr().String() }

// routes returns the handler for all requests of the recorder tab.
func (s *chunkServer) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{token}/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", recorderPolicy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		_, _ = io.WriteString(w, recorderPage)
	})
	mux.HandleFunc("GET /{token}/recorder.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = io.WriteString(w, liveSoundScript+voiceScript+recorderScript)
	})
	mux.HandleFunc("POST /{token}/chunks/{sequence}", s.handleChunk)
	mux.HandleFunc("POST /{token}/status", s.handleStatus)
	mux.HandleFunc("POST /{token}/end", s.handleEnd)
	// Requests are rejected without the secret, from other origins, and with another Host header
	// (DNS rebinding).
	token := []byte(s.path())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := []byte(r.URL.Path)
		if len(path) < len(token) || subtle.ConstantTimeCompare(path[:len(token)], token) != 1 {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		crossOrigin := r.Method == http.MethodPost && r.Header.Get("Origin") != s.origin()
		if r.Host != s.listener.Addr().String() || crossOrigin {
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})
}

// handleChunk stores the next chunk. A chunk that is sent again, because its
// response was lost, is acknowledged again.
func (s *chunkServer) handleChunk(w http.ResponseWriter, r *http.Request) {
	sequence, err := strconv.Atoi(r.PathValue("sequence"))
	if err != nil || sequence < 0 {
		http.Error(w, "malformed sequence", http.StatusBadRequest)
		return
	}
	offset, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 32) // milliseconds, up to 24 days
	if err != nil || offset < 0 {
		http.Error(w, "malformed offset", http.StatusBadRequest)
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxChunkBytes))
	if err != nil {
		http.Error(w, "unreadable chunk", http.StatusBadRequest)
		return
	}
	s.appendMu.Lock()
	defer s.appendMu.Unlock()
	switch next := s.stats().Chunks; {
	case s.closed:
		http.Error(w, "the recording has ended", http.StatusGone)
		return
	case sequence < next:
		w.WriteHeader(http.StatusNoContent)
		return
	case sequence > next:
		http.Error(w, "a chunk is missing before this one", http.StatusConflict)
		return
	}
	chunk := Chunk{Sequence: sequence, Data: data, Offset: time.Duration(offset) * time.Millisecond}
	err = s.sink.Append(chunk)
	s.appended(time.Now(), chunk.Offset, err)
	if err != nil {
		http.Error(w, "not stored", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// appended updates the statistics after a chunk, or keeps the error of the sink for a StallError.
func (s *chunkServer) appended(at time.Time, recorded time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sinkErr = err; err == nil {
		s.current.Chunks++
		s.current.Recorded, s.activeSince = recorded, at
	}
}

// handleStatus updates the statistics from a status report, which the tab sends every
// second.
func (s *chunkServer) handleStatus(w http.ResponseWriter, r *http.Request) {
	var status struct {
		SoundAgoMs, SignalAgoMs, PictureAgoMs int64 // -1: never
		Width, Height                         int
		SoundChanges                          []struct {
			Sound       bool
			AtMs, AgoMs float64
		}
		SoundGaps []struct {
			Blank                 bool
			LengthMs, AtMs, AgoMs float64
		}
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReportBytes)).Decode(&status); err != nil {
		http.Error(w, "malformed status", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stats, now := &s.current, time.Now()
	stats.LastReportAt, stats.Width, stats.Height = now, status.Width, status.Height
	update := func(at *time.Time, agoMs int64) {
		if agoMs >= 0 {
			*at = now.Add(-time.Duration(agoMs) * time.Millisecond)
		}
	}
	update(&stats.LastSoundAt, status.SoundAgoMs)
	update(&stats.LastSignalAt, status.SignalAgoMs)
	update(&stats.LastPictureAt, status.PictureAgoMs)
	// A reader may have the old slices, whose elements do not change.
	for _, change := range status.SoundChanges {
		stats.SoundChanges = append(stats.SoundChanges, SoundChange{localTime(change.AtMs, change.AgoMs, now), change.Sound})
	}
	stats.SoundChanges = stats.SoundChanges[max(0, len(stats.SoundChanges)-maxSoundChanges):]
	for _, gap := range status.SoundGaps {
		from := localTime(gap.AtMs, gap.AgoMs, now)
		to := from.Add(time.Duration(gap.LengthMs * float64(time.Millisecond)))
		stats.SoundGaps = append(stats.SoundGaps, SoundGap{From: from, To: to, Blank: gap.Blank})
	}
	stats.SoundGaps = stats.SoundGaps[max(0, len(stats.SoundGaps)-maxSoundChanges):]
	w.WriteHeader(http.StatusNoContent)
}

// handleEnd publishes the endReport. Only the first one counts.
func (s *chunkServer) handleEnd(w http.ResponseWriter, r *http.Request) {
	var report endReport
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReportBytes)).Decode(&report); err != nil {
		http.Error(w, "malformed end", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	if s.current.EndedAt.IsZero() {
		s.current.EndedAt = localTime(report.AtMs, report.AgoMs, time.Now())
	}
	s.mu.Unlock()
	select {
	case s.ended <- report:
	default:
	}
	w.WriteHeader(http.StatusNoContent)
}

// pause stops the check for missing chunks.
func (s *chunkServer) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
}

// resume starts the check for missing chunks.
func (s *chunkServer) resume(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.activeSince = true, now
}

// checkStall returns a *StallError if no chunk arrived for longer than the limit.
func (s *chunkServer) checkStall(now time.Time, limit time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running || now.Sub(s.activeSince) <= limit {
		return nil
	}
	return &StallError{Since: s.activeSince, Cause: s.sinkErr}
}

func (s *chunkServer) stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// close stops the server. The sink is not called after close returns.
func (s *chunkServer) close() error {
	defer s.revoke()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("close the chunk server: %w", err), s.server.Close())
	}
	s.serving.Wait()
	s.appendMu.Lock()
	defer s.appendMu.Unlock()
	s.closed = true
	return err
}
