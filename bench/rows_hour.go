package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"golang.org/x/sync/errgroup"

	"standin/bench/process"
	"standin/bench/report"
	"standin/internal/bot/ingest"
	standinjob "standin/internal/jobs/job"
)

const (
	segmentBytes  = 175 << 10 // of a second of 720p
	beatInterval  = 5 * time.Second
	hourAhead     = 5 * time.Second // from the last create to joinAt
	slowestStatus = time.Minute
)

// Metrics of the row hour, in cores and milliseconds.
const (
	serviceCores  = "service-cores"
	databaseCores = "database-cores"
	uploadP99     = "upload-p99-ms"
	beatP99       = "heartbeat-p99-ms"
	createP99     = "create-p99-ms"
	calendarP99   = "calendar-p99-ms"
)

// hourRows simulate the bots of a full hour with the real protocol.
func hourRows() []row {
	return []row{{
		name: "hour", once: true, slow: true,
		table: []report.Row{{Title: "cores of the service for recording bots that begin at one instant", Unit: serviceCores}},
		prepare: func(_ context.Context, e *env) (all []contestant, err error) {
			for _, database := range e.databases {
				measure := func(ctx context.Context) (report.Metrics, error) { return e.hour(ctx, database) }
				all = append(all, contestant{program: standin, database: database, scale: e.hourBots, measure: measure})
			}
			return all, nil
		},
	}}
}

// hour creates jobs that are due at one instant, lets each bot report its states, upload a second of media each second and send
// heartbeats, while more jobs are created and the meetings of calendars move, and measures what the service uses.
func (e *env) hour(ctx context.Context, database string) (m report.Metrics, err error) {
	objects, err := newObjectStore()
	if err != nil {
		return nil, err
	}
	defer objects.Close()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	s, err := e.start(ctx, standin, database, "--storage-url",
		"s3://recordings?region=us-east-1&hostname_immutable=true&use_path_style=true&endpoint="+objects.URL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	h := &hour{instance: s, relay: e.hourRelay}
	h.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 10_000}}
	h.segment = bytes.Repeat([]byte{7}, segmentBytes)
	sum := sha256.Sum256(h.segment)
	h.sum = hex.EncodeToString(sum[:])

	joinAt := time.Now().Add(hourAhead + time.Duration(e.hourBots)*5*time.Millisecond)
	ids := make([]string, e.hourBots)
	var creates errgroup.Group
	creates.SetLimit(16)
	for i := range ids {
		creates.Go(func() (err error) {
			j := newJob(i)
			j.JoinAt, j.MeetingURL = joinAt, "https://meet.google.com/"+meetingCode(i)
			ids[i], err = s.createJob(ctx, j)
			return err
		})
	}
	if err := creates.Wait(); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var bots errgroup.Group
	for i, id := range ids {
		bots.Go(func() error { return h.bot(running, id, joinAt, time.Duration(i)*time.Second/time.Duration(len(ids))) })
	}
	bots.Go(func() error { return h.createAt(running, e.hourCreates, e.hourBots) })
	feeds := httptest.NewServer(http.HandlerFunc(moving))
	defer feeds.Close()
	bots.Go(func() error { return h.readCalendars(running, e.hourCalendars, feeds.URL) })
	select {
	case <-time.After(time.Until(joinAt) + 10*time.Second): // until all record
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	h.reset()
	pids, began := []int{s.PID()}, time.Now()
	before, databaseBefore := process.CPUTime(pids...), e.databaseTime()
	select {
	case <-time.After(e.hourLength):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	elapsed := time.Since(began).Seconds()
	m = report.Metrics{
		serviceCores:  (process.CPUTime(pids...) - before).Seconds() / elapsed,
		databaseCores: (e.databaseTime() - databaseBefore).Seconds() / elapsed,
		uploadP99:     h.percentile("upload"), beatP99: h.percentile("beat"), createP99: h.percentile("create"),
		calendarP99: h.percentile("calendar"), "calendars-per-s": float64(h.count("calendar")) / elapsed,
		"uploads-per-s": float64(h.count("upload")) / elapsed, "creates-per-s": float64(h.count("create")) / elapsed,
		"late-p99-ms": h.latePercentile(),
	}
	stop()
	return m, bots.Wait()
}

// databaseTime returns the CPU time of PostgreSQL; 0 without it.
func (e *env) databaseTime() time.Duration {
	if e.cluster == nil {
		return 0
	}
	return process.CPUTime(e.cluster.PID())
}

// meetingCode returns the code of a meeting that differs from those of other numbers.
func meetingCode(n int) string {
	letters := make([]byte, 10)
	for i := range letters {
		letters[i] = byte('a' + n%26)
		n /= 26
	}
	return fmt.Sprintf("%s-%s-%s", letters[:3], letters[3:7], letters[7:])
}

// newObjectStore starts an object store with a bucket, which does not keep media.
func newObjectStore() (*httptest.Server, error) {
	backend := s3mem.New()
	if err := backend.CreateBucket("recordings"); err != nil {
		return nil, err
	}
	rest := gofakes3.New(backend).Server()
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut || r.ContentLength < segmentBytes {
			rest.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("ETag", `"0"`)
	})), nil
}

// hour is the bots' side.
type hour struct {
	*instance
	client  *http.Client
	relay   bool // through the service
	segment []byte
	sum     string

	mu   sync.Mutex
	took map[string][]float64 // milliseconds, by the kind of request
	late []float64            // of the first event of each bot, in milliseconds
}

// bot reports the states of a recording bot, and then uploads and sends heartbeats until ctx ends.
func (h *hour) bot(ctx context.Context, id string, joinAt time.Time, shift time.Duration) error {
	token := ingest.Token([]byte(signingKey), id, 0)
	if !sleepUntil(ctx, joinAt) {
		return nil
	}
	for i, kind := range []standinjob.Trigger{standinjob.BotJoined, standinjob.BotInMeeting, standinjob.BotRecordingStarted} {
		for {
			body := fmt.Sprintf(`{"kind":%q,"jobId":%q,"attempt":0,"emittedAt":%q,"data":{}}`, kind, id, time.Now().UTC().Format(time.RFC3339Nano))
			status, _, err := h.send(ctx, "event", ingest.EventPath, token, []byte(body))
			if err == nil && status == http.StatusOK {
				break
			}
			if time.Since(joinAt) > slowestStatus {
				return fmt.Errorf("the bot of job %s is not heard: %d %w", id, status, err)
			}
			if !sleepUntil(ctx, time.Now().Add(50*time.Millisecond)) {
				return nil
			}
		}
		if i == 0 {
			h.mu.Lock()
			h.late = append(h.late, float64(time.Since(joinAt).Milliseconds()))
			h.mu.Unlock()
		}
	}
	start := time.Now().Add(shift)
	for n := 0; sleepUntil(ctx, start.Add(time.Duration(n)*time.Second)); n++ {
		if err := h.upload(ctx, id, token, ingest.SegmentName(0, n)); ctx.Err() == nil && err != nil {
			return fmt.Errorf("an upload of job %s: %w", id, err)
		}
		if n%int(beatInterval/time.Second) != 0 {
			continue
		}
		body := fmt.Sprintf(`{"jobId":%q,"attempt":0,"stats":{"bytesRecorded":%d,"bytesUploaded":%d,"eventsWaiting":0,"recordedMillis":%d,
			"coresUsed":0.7,"memoryBytes":700000000,"coreSeconds":%d,"memoryGiBSeconds":%d}}`, id, n*segmentBytes, n*segmentBytes, 1000*n, n, n)
		status, _, err := h.send(ctx, "beat", ingest.HeartbeatPath, token, []byte(body))
		if ctx.Err() == nil && status != http.StatusOK {
			return fmt.Errorf("a heartbeat of job %s: %d %w", id, status, err)
		}
	}
	return nil
}

// createAt creates jobs at a rate until ctx ends.
func (h *hour) createAt(ctx context.Context, perSecond, from int) error {
	var requests errgroup.Group
	requests.SetLimit(64)
	began := time.Now()
	for n := 0; perSecond > 0 && sleepUntil(ctx, began.Add(time.Duration(n)*time.Second/time.Duration(perSecond))); n++ {
		requests.Go(func() error {
			j := newJob(from + n)
			j.MeetingURL = "https://meet.google.com/" + meetingCode(from+n)
			body, err := json.Marshal(j)
			if err != nil {
				return err
			}
			status, _, err := h.send(ctx, "create", "/api/v1/jobs", h.key, body)
			if ctx.Err() == nil && status/100 != 2 {
				return fmt.Errorf("a create: %d %w", status, err)
			}
			return nil
		})
	}
	return requests.Wait()
}

// movingMeetings is how many meetings a calendar has.
const movingMeetings = 20

// moving is a calendar whose meetings begin later each time it is read.
func moving(w http.ResponseWriter, r *http.Request) {
	later := time.Duration(time.Now().Unix()%1000) * time.Minute
	fmt.Fprint(w, "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//bench//\r\n")
	for i := range movingMeetings {
		start := time.Now().UTC().Truncate(24 * time.Hour).Add(48*time.Hour + later + time.Duration(i)*time.Minute)
		fmt.Fprintf(w, "BEGIN:VEVENT\r\nUID:%s-%d\r\nDTSTAMP:%s\r\nDTSTART:%s\r\nDTEND:%s\r\nSUMMARY:Planning\r\n"+
			"LOCATION:https://meet.google.com/%s\r\nEND:VEVENT\r\n",
			r.URL.Path[1:], i, utc(time.Now()), utc(start), utc(start.Add(time.Hour)), meetingCode(1_000_000+i))
	}
	fmt.Fprint(w, "END:VCALENDAR\r\n")
}

// utc formats a time as calendars do.
func utc(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// readCalendars connects calendars, and reads one after the other, ten each second, until ctx ends.
func (h *hour) readCalendars(ctx context.Context, count int, feeds string) error {
	var ids []string
	for i := range count {
		text, err := h.call(ctx, http.MethodPost, "/api/v1/calendars", map[string]any{
			"name": fmt.Sprintf("calendar %d", i), "icsUrl": fmt.Sprintf("%s/%d", feeds, i), "rules": map[string]any{"record": []string{"all"}},
		})
		if err != nil {
			return err
		}
		var connected struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(text, &connected); err != nil {
			return err
		}
		ids = append(ids, connected.ID)
	}
	began := time.Now()
	for n := 0; count > 0 && sleepUntil(ctx, began.Add(time.Duration(n)*100*time.Millisecond)); n++ {
		path := "/api/v1/calendars/" + ids[n%count] + "/sync"
		if status, _, err := h.send(ctx, "calendar", path, h.key, nil); ctx.Err() == nil && status != http.StatusOK {
			return fmt.Errorf("a calendar: %d %w", status, err)
		}
	}
	return nil
}

// upload sends a segment as bots do: to the object store itself, as the service signs it, or to the service.
func (h *hour) upload(ctx context.Context, id, token, name string) error {
	defer h.note("upload", time.Now())
	if h.relay {
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+h.Address+ingest.MediaPath+"/"+id+"/0/"+name,
			bytes.NewReader(h.segment))
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/octet-stream")
		request.Header.Set(ingest.ChecksumHeader, h.sum)
		return h.put(request)
	}
	body, err := json.Marshal(ingest.DirectUpload{JobID: id, Name: name, Bytes: segmentBytes, SHA256: h.sum})
	if err != nil {
		return err
	}
	status, text, err := h.send(ctx, "sign", ingest.SignPath, token, body)
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("sign: %d %w", status, err)
	}
	var signed ingest.SignedUpload
	if err := json.Unmarshal(text, &signed); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, signed.URL, bytes.NewReader(h.segment))
	if err != nil {
		return err
	}
	request.Header = signed.Headers
	return h.put(request)
}

// put sends media.
func (h *hour) put(request *http.Request) error {
	response, err := h.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("an upload: %s", response.Status)
	}
	return nil
}

// send sends a request and notes how long it took.
func (h *hour) send(ctx context.Context, kind, path, token string, body []byte) (status int, text []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+h.Address+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	began := time.Now()
	response, err := h.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	h.note(kind, began)
	return response.StatusCode, text, err
}

// note notes how long a request took.
func (h *hour) note(kind string, began time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.took != nil {
		h.took[kind] = append(h.took[kind], float64(time.Since(began).Microseconds())/1000)
	}
}

// reset begins to note how long requests take.
func (h *hour) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took = make(map[string][]float64)
}

func (h *hour) count(kind string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.took[kind])
}

func (h *hour) percentile(kind string) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return percentile99(h.took[kind])
}

func (h *hour) latePercentile() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return percentile99(h.late)
}

func percentile99(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)*99/100]
}

// sleepUntil reports false when ctx ends first.
func sleepUntil(ctx context.Context, at time.Time) bool {
	select {
	case <-time.After(time.Until(at)):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
