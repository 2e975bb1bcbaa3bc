package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/ingest"
)

// atOnce is how long a request may take that attacks must not delay.
const atOnce = time.Second * raceFactor

// timed sends a request from an address behind the proxy, and checks its status and that it is
// answered at once. It returns the time that it took.
func (s *target) timed(what, address, path string, header http.Header, body string, want int) time.Duration {
	s.Helper()
	header = header.Clone()
	header.Set("X-Forwarded-For", address)
	started := time.Now()
	got := s.send(http.MethodPost, path, header, strings.NewReader(body))
	took := time.Since(started)
	if got.status != want || took > atOnce {
		s.Errorf("%s: status %d after %s: %s", what, got.status, took, got.body)
	}
	return took
}

// TestAttackSlowBodies sends bodies without credentials from 64 addresses, 32 from each at a time.
// Some send nothing, others just fast enough. Requests with credentials and those of others are
// answered at once, also at one of the addresses. It measures time, so it does not run in parallel.
func TestAttackSlowBodies(t *testing.T) {
	s := startTarget(t, newDataDir(t), "STANDIN_TRUSTED_PROXIES=1")
	key := s.key("ada")
	id := s.create(key, map[string]any{"joinAt": "2999-01-01T00:00:00Z"})
	var attackers sync.WaitGroup
	defer attackers.Wait()
	ended := make(chan struct{})
	defer close(ended)
	for i := range 64 * 32 {
		path := []string{"/api/v1/ingest", "/signin"}[i/64%2]
		head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: standin\r\nAuthorization: Bearer x\r\nX-Forwarded-For: 192.0.2.%d\r\n"+
			"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 65536\r\n\r\n", path, i%64)
		attackers.Go(func() {
			for {
				s.slowBody(head, 1500*(i%2), ended)
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	member := http.Header{"Authorization": {"Bearer " + key}}
	bot := http.Header{"Authorization": {"Bearer " + ingest.Token([]byte(signingKey), id, 0)}}
	message := `{"jobId":"` + id + `","attempt":0}`
	slowest := make(map[string]time.Duration)
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	for i := range 100 {
		job := fmt.Sprintf(`{"externalId":"%d","meetingUrl":"https://meet.google.com/abc","joinAt":"2999-01-01T00:00:00Z"}`, i)
		for where, address := range map[string]string{"elsewhere": "198.51.100.1", "there": "192.0.2.1"} {
			header := bot.Clone()
			if where == "there" { // as bots do
				header.Set(ingest.AttemptHeader, id+":0")
			}
			job := strings.Replace(job, `":"`, `":"`+where, 1)
			create, beat := "create "+where, "heartbeat "+where
			slowest[create] = max(slowest[create], s.timed(create, address, "/api/v1/jobs", member, job, 201))
			slowest[beat] = max(slowest[beat], s.timed(beat, address, "/api/v1/ingest/heartbeat", header, message, 200))
		}
		login := fmt.Sprintf("198.51.100.%d", i)
		slowest["login"] = max(slowest["login"], s.timed("login", login, "/api/v1/cli-auth/complete", http.Header{}, `{"nonce":"x","apiKey":"k"}`, 410))
		<-pause.C // the attack goes on
	}
	t.Logf("slowest: %v, memory at most %d MiB", slowest, s.resident("VmHWM"))
}

// slowBody sends the head of a request and then some bytes per second, until the service or the
// test ends it.
func (s *target) slowBody(head string, perSecond int, ended <-chan struct{}) {
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		s.Error(err)
		return
	}
	defer connection.Close()
	answered := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, connection) // until the service or slowBody closes it
		close(answered)
	}()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for _, err = io.WriteString(connection, head); err == nil; _, err = io.WriteString(connection, strings.Repeat("x", perSecond)) {
		select {
		case <-ended:
			return
		case <-answered:
			return
		case <-second.C:
		}
	}
}

// TestAttackWaitingAgents has agents of one team wait, with messages as long as they may be. A
// job of another team at the same address is created at once.
func TestAttackWaitingAgents(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t), "STANDIN_TRUSTED_PROXIES=1")
	mallory, ada := s.key("mallory"), s.key("ada")
	id := s.create(mallory, map[string]any{"joinAt": "2999-01-01T00:00:00Z"})
	head := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait_for","arguments":{"jobId":"` + id +
		`","until":"ended","timeoutSeconds":300},"_meta":{"progressToken":"p","x":"`
	message := head + strings.Repeat("x", 64<<10-len(head)-len(`"}}}`)) + `"}}}`
	for range 40 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/mcp", strings.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{
			"Authorization": {"Bearer " + mallory}, "Content-Type": {"application/json"},
			"Accept": {"application/json, text/event-stream"}, "X-Forwarded-For": {"192.0.2.1"},
		}
		got, err := http.DefaultClient.Do(request) // when the call waits
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		if got.StatusCode != http.StatusOK {
			t.Fatalf("a call that waits: %d", got.StatusCode)
		}
	}
	took := s.timed("create", "192.0.2.1", "/api/v1/jobs", http.Header{"Authorization": {"Bearer " + ada}},
		`{"externalId":"a","meetingUrl":"https://meet.google.com/abc","joinAt":"2999-01-01T00:00:00Z"}`, 201)
	t.Logf("the job of another team took %s", took)
}
