package main

import (
	"bufio"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/server/httpapi"
)

// maxResident is how much memory the service may use, in MiB, whatever clients send.
// The race detector takes several times the memory of the program.
const maxResident = 300 * raceFactor

// flood is a request that is sent many times at once.
type flood struct {
	name   string
	path   string
	header http.Header
	body   string
}

// TestAttackMemoryFlood sends 100 large bodies at once to each endpoint that reads one,
// without valid credentials, and then to those that decode one, with valid credentials.
// The bodies are forms, and JSON whose values take much more memory than its text. The
// service stays small, and serves others meanwhile.
func TestAttackMemoryFlood(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t), "STANDIN_INTAKE_SECRET=intake", "STANDIN_PAYMENT_WEBHOOK_SECRET=whsec_x", "GOGC=100")
	key := s.key("mallory")
	id := s.create(key, map[string]any{"joinAt": "2999-01-01T00:00:00Z"})
	for _, f := range strangersFloods(id) {
		s.checkFlood(f.name, 100, f)
	}
	for fill, floods := range map[string][]flood{"objects": membersFloods(key, id, fillJSON), "nested": membersFloods(key, id, nestJSON)} {
		for _, f := range floods {
			s.checkFlood(f.name+", "+fill, 100, f)
		}
		s.checkFlood("all, "+fill, 100, floods...)
	}
}

// checkFlood sends 100 requests and waits for a number of responses. It checks the
// statuses, and the memory that the service used meanwhile.
func (s *target) checkFlood(name string, responses int, requests ...flood) {
	s.Helper()
	if err := os.WriteFile(s.proc("clear_refs"), []byte("5"), 0); err != nil { // the peak starts now
		s.Fatal(err)
	}
	before := s.resident("VmRSS")
	statuses := s.flood(100, responses, requests...)
	peak := s.resident("VmHWM")
	s.Logf("%-25s statuses %v, memory %d MiB, at most %d MiB", name, statuses, before, peak)
	if peak > maxResident {
		s.Errorf("%s: the service used %d MiB, at most %d are allowed", name, peak, maxResident)
	}
	for status := range statuses {
		if status == 0 || status >= 500 && status != http.StatusServiceUnavailable {
			s.Errorf("%s: %d responses with status %d", name, statuses[status], status)
		}
	}
	if got := s.send(http.MethodGet, "/healthz", nil, nil); got.status != http.StatusOK {
		s.Errorf("%s: /healthz returned %d", name, got.status)
	}
}

// fillJSON fills a document of a size with empty objects, between two texts.
func fillJSON(size int, before, after string) string {
	const element = "{},"
	return before + strings.Repeat(element, (size-len(before)-len(after))/len(element)-1) + "{}" + after
}

// nestJSON fills a document of a size with lists in each other.
func nestJSON(size int, before, after string) string {
	depth := (size - len(before) - len(after)) / 2
	return before + strings.Repeat("[", depth) + strings.Repeat("]", depth) + after
}

// strangersFloods returns requests without valid credentials.
func strangersFloods(id string) []flood {
	const size, publicForm = 128 << 10, 64 << 10
	list := fillJSON(size, `[`, `]`)
	message := fillJSON(size, `{"jobId":"`+id+`","attempt":0,"data":[`, `]}`)
	bearer := http.Header{"Authorization": {"Bearer x"}}
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	return []flood{
		{"event, wrong token", "/api/v1/ingest", bearer, message},
		{"event, no sender", "/api/v1/ingest", bearer, list},
		{"event, invalid sender", "/api/v1/ingest", bearer, fillJSON(size, `{"jobId":[`, `],"attempt":0}`)},
		{"texts, wrong token", "/api/v1/ingest/texts", bearer, message},
		{"heartbeat, wrong token", "/api/v1/ingest/heartbeat", bearer, message},
		{"job, wrong key", "/api/v1/jobs", bearer, list},
		{"invite, wrong secret", "/api/v1/intake/calendar-invite", http.Header{httpapi.IntakeSecretHeader: {"x"}}, list},
		{"payment, wrong signature", "/webhooks/payments", http.Header{"Payment-Signature": {"t=1,v1=00"}}, list},
		{"login", "/api/v1/cli-auth/complete", nil, list},
		{"notification, wrong secret", "/webhooks/calendars/" + id + "/x", nil, fillJSON(size, `{"value":[`, `]}`)},
		{"sign-in form", "/signin", form, strings.Repeat("a=&", publicForm/3)},
		{"invitation form", "/welcome", form, strings.Repeat("a=&", publicForm/3)},
	}
}

// membersFloods returns requests with valid credentials, and documents that fill has filled.
func membersFloods(key, id string, fill func(size int, before, after string) string) []flood {
	const size = 1 << 20
	member := http.Header{"Authorization": {"Bearer " + key}}
	agent := http.Header{
		"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}
	bot := http.Header{"Authorization": {"Bearer " + ingest.Token([]byte(signingKey), id, 0)}}
	sender := `"jobId":"` + id + `","attempt":0,`
	return []flood{
		{"job", "/api/v1/jobs", member, fill(size, `{"externalId":"x","meetingUrl":"https://meet.google.com/abc","metadata":{"a":[`, `]}}`)},
		{"batch", "/api/v1/jobs/batch", member, fill(size, `{"jobs":[`, `]}`)},
		{"agent", "/mcp", agent, fill(64<<10, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_jobs","arguments":{"a":[`, `]}}}`)},
		{"notification", "/webhooks/calendars/" + id + "/" + notifySecret(id), nil, fill(64<<10, `{"value":[`, `]}`)},
		{"chat message", "/api/v1/jobs/" + id + "/send-chat-message", member, fill(size, `{"text":[`, `]}`)},
		{"event", "/api/v1/ingest", bot, fill(size, `{`+sender+`"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z","data":{"a":[`,
			`]}}`)},
		{"texts", "/api/v1/ingest/texts", bot, fill(size, `{`+sender+`"texts":[`, `]}`)},
		{"heartbeat", "/api/v1/ingest/heartbeat", bot, fill(size, `{`+sender+`"stats":{"roster":{"participants":[`, `]}}}`)},
	}
}

// notifySecret returns what ends the URL of notifications about a calendar.
func notifySecret(id string) string {
	key, err := hkdf.Key(sha256.New, []byte(signingKey), nil, "standin calendar notifications", 32)
	if err != nil {
		panic(err) // the length is valid
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id))
	return hex.EncodeToString(mac.Sum(nil))
}

// flood sends n requests at once in turn, from four addresses of this machine, and holds
// their last bytes back until the rest was sent. After a number of responses it returns
// how often each status was received. 0 stands for no response.
func (s *target) flood(n, responses int, requests ...flood) map[int]int {
	s.Helper()
	var connections []net.Conn
	var sent, answered sync.WaitGroup
	release := make(chan struct{})
	statuses := make(chan int, n)
	for i := range n {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+i%4))}}
		connection, err := from.DialContext(s.Context(), "tcp", strings.TrimPrefix(s.base, "http://"))
		if err != nil {
			s.Fatal(err)
		}
		connections = append(connections, connection)
		sent.Add(1)
		answered.Go(func() { statuses <- requests[i%len(requests)].send(connection, sent.Done, release) })
	}
	allSent := make(chan struct{})
	go func() { sent.Wait(); close(allSent) }()
	select {
	case <-allSent:
	case <-time.After(500 * time.Millisecond): // the service does not read all of them at once
	}
	close(release)
	count := make(map[int]int)
	for range responses {
		count[<-statuses]++
	}
	for _, connection := range connections {
		_ = connection.Close() // nothing more is read
	}
	answered.Wait()
	return count
}

// send sends a request, its last byte after release was closed, and returns the status of
// the response; 0 without one. It calls sent once the rest was sent.
func (f flood) send(connection net.Conn, sent func(), release <-chan struct{}) int {
	var head strings.Builder
	fmt.Fprintf(&head, "POST %s HTTP/1.1\r\nHost: standin\r\nConnection: close\r\nContent-Length: %d\r\n", f.path, len(f.body))
	_ = f.header.Write(&head) // to memory
	last := len(f.body) - 1
	_, _ = io.WriteString(connection, head.String()+"\r\n"+f.body[:last]) // the service may refuse the request earlier
	sent()
	<-release
	_, _ = io.WriteString(connection, f.body[last:])
	got, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return 0
	}
	_ = got.Body.Close() // only the status counts
	return got.StatusCode
}

// resident returns a figure of the service's memory in MiB: VmRSS now, VmHWM at its peak.
func (s *target) resident(figure string) int {
	s.Helper()
	text, err := os.ReadFile(s.proc("status"))
	if err != nil {
		s.Fatal(err)
	}
	found := regexp.MustCompile(figure + `:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		s.Fatalf("no %s in %s", figure, text)
	}
	kibibytes, err := strconv.Atoi(string(found[1]))
	if err != nil {
		s.Fatal(err)
	}
	return kibibytes >> 10
}

// proc returns a file about the service's process.
func (s *target) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(s.process.Process.Pid), name)
}
