package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"standin/internal/httpapi"
	"standin/internal/ingest"
)

// short is a deadline that tests can wait for.
const short = 200 * time.Millisecond

// dial opens a connection to the surface, sends some bytes, and closes it
// when the test ends.
func (s *surface) dial(text string) net.Conn {
	s.t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatalf("dial: %v", err)
	}
	s.t.Cleanup(func() { _ = connection.Close() }) // the server may have closed it
	if err := connection.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.WriteString(connection, text); err != nil {
		s.t.Fatalf("send %q: %v", text, err)
	}
	return connection
}

// readAnswer reads an answer from a connection.
func readAnswer(t testing.TB, connection net.Conn) answer {
	t.Helper()
	got, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	defer got.Body.Close() // read only
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatalf("read the answer's body: %v", err)
	}
	return answer{got.StatusCode, got.Header, string(body)}
}

// pass waits until a deadline of the server's has surely passed.
func pass(t testing.TB, deadline time.Duration) {
	t.Helper()
	select {
	case <-time.After(2 * deadline):
	case <-t.Context().Done():
	}
}

func head(method, path, bearer string, length int) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: standin\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", method, path, bearer, length)
}

// TestSlowClientsDoNotStopOthers opens a thousand connections that say nothing,
// half a header or half a body, and uses the surface beside them.
func TestSlowClientsDoNotStopOthers(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.Timeouts = httpapi.Timeouts{Header: testTimeout, Body: testTimeout, Idle: testTimeout}
	})
	for range 334 {
		s.dial("")
		s.dial("POST /api/v1/jobs HTTP/1.1\r\nHost: stan")
		s.dial(head("POST", jobsPath, adasKey, 100) + `{"externalId"`)
	}
	for i := range 20 {
		body := fmt.Sprintf(`{"externalId":"beside %d","meetingUrl":"https://meet.google.com/abc"}`, i)
		if got := s.send(t, request{"POST", jobsPath, adasKey, nil, body}); got.status != 201 {
			t.Fatalf("beside slow clients: %d %s", got.status, got.body)
		}
	}
}

func TestSlowClientsTimeOut(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.Timeouts = httpapi.Timeouts{Header: short, Body: short, Idle: short}
	})
	silent, half := s.dial(""), s.dial("GET /healthz HTTP/1.1\r\nHos")
	idle := s.dial("GET /healthz HTTP/1.1\r\nHost: standin\r\n\r\n")
	slow := s.dial(head("POST", jobsPath, adasKey, 100) + `{"externalId"`)
	slowStranger := s.dial(head("POST", jobsPath, "standin_live_eve", 100) + `{"externalId"`)

	if got := readAnswer(t, slow); got.status != 408 || s.description.CheckResponse("POST", jobsPath, 408, []byte(got.body)) != nil {
		t.Errorf("half a body: %d %s, want 408", got.status, got.body)
	}
	if got := readAnswer(t, slowStranger); got.status != 401 {
		t.Errorf("half a stranger's body: %d %s, want 401", got.status, got.body)
	}
	if got := readAnswer(t, idle); got.status != 200 {
		t.Errorf("before idling: %d", got.status)
	}
	for name, connection := range map[string]net.Conn{
		"silent": silent, "half a header": half, "idle after a request": idle, "half a body": slow, "half a stranger's body": slowStranger,
	} {
		if _, err := io.Copy(io.Discard, connection); err != nil {
			t.Errorf("%s: the server did not close the connection: %v", name, err)
		}
	}
}

// TestHeldHeartbeatOutlivesTheBodyDeadline holds a heartbeat for longer than a
// body may take.
func TestHeldHeartbeatOutlivesTheBodyDeadline(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.Timeouts = httpapi.Timeouts{Header: short, Body: short, Idle: short, Answer: short}
	})
	acquired := s.heldHeartbeat("60")
	<-s.shelf.waiting
	pass(t, short)
	s.shelf.command <- ingest.Command{ID: nobodysJob.String(), Kind: ingest.LeaveCall}
	got := readAnswer(t, acquired)
	if got.status != 200 || !strings.Contains(got.body, "leave_call") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if err := s.description.CheckResponse("POST", ingest.HeartbeatPath, got.status, []byte(got.body)); err != nil {
		t.Error(err)
	}
}

// heldHeartbeat sends a heartbeat that waits for a command.
func (s *surface) heldHeartbeat(wait string) net.Conn {
	body := `{"jobId":"` + adasJob.String() + `","attempt":0}`
	return s.dial(head("POST", ingest.HeartbeatPath+"?wait="+wait, token(adasJob, 0), len(body)) + body)
}

func TestShutdownEndsTheWaiting(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	acquired := s.heldHeartbeat("60")
	<-s.shelf.waiting
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		t.Fatalf("shut down: %v", err)
	}
	if got := readAnswer(t, acquired); got.status != 200 || !strings.Contains(got.body, `"commands":[]`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestClosedHeartbeatIsNotAnError(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	acquired := s.heldHeartbeat("1e300")
	<-s.shelf.waiting
	if err := acquired.Close(); err != nil {
		t.Fatal(err)
	}
	text := eventually(t, "a line in the log", func() (map[string]any, bool) {
		lines := decodeLines(t, s.log.String())
		if len(lines) == 0 {
			return nil, false
		}
		return lines[0], true
	})
	if text["status"] != 499.0 || text["level"] != "INFO" {
		t.Errorf("the log says %v", text)
	}
}

func TestSlowUploadsSucceed(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.Timeouts = httpapi.Timeouts{Header: short, Body: short, Stall: 20 * short, Idle: short}
	})
	path := ingest.MediaPath + "/" + adasJob.String() + "/0/recording-000-000000.mp4s"
	header := strings.Replace(head("PUT", path, token(adasJob, 0), 10), "\r\n\r\n", "\r\n"+ingest.ChecksumHeader+": "+sumOf("0123456789")+"\r\n\r\n", 1)
	slow := s.dial(header + "01234")
	pass(t, short)
	if _, err := io.WriteString(slow, "56789"); err != nil {
		t.Fatal(err)
	}
	if got := readAnswer(t, slow); got.status != 200 {
		t.Errorf("a slow upload: %d %s", got.status, got.body)
	}

	s = newSurface(t, func(settings *httpapi.Settings) {
		settings.Timeouts = httpapi.Timeouts{Stall: short}
	})
	stalled := s.dial(header + "01234")
	if got := readAnswer(t, stalled); got.status != 408 {
		t.Errorf("a stalled upload: %d %s, want 408", got.status, got.body)
	}
	uploads, err := s.storage.Uploads(t.Context(), adasJob)
	if err != nil || len(uploads) > 0 {
		t.Errorf("a stalled upload was kept: %+v (%v)", uploads, err)
	}
}

// TestStalledReaderTimesOut asks for more than the kernel buffers and
// reads none of it.
func TestStalledReaderTimesOut(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.Timeouts = httpapi.Timeouts{Stall: short}
	})
	video := strings.Repeat("x", 32<<20)
	s.keepRecording(video)
	s.dial(head("GET", jobsPath+"/"+adasJob.String()+"/media/recording.mp4", adasKey, 0))
	text := eventually(t, "a line in the log", func() (map[string]any, bool) {
		lines := decodeLines(t, s.log.String())
		if len(lines) == 0 {
			return nil, false
		}
		return lines[0], true
	})
	if sent, _ := text["bytes"].(float64); sent >= float64(len(video)) {
		t.Errorf("all of it was sent: %v", text)
	}
}

func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	connection := s.dial("")
	reader := bufio.NewReader(connection)
	body := `{"externalId":"","meetingUrl":"x"}`
	for range 3 {
		if _, err := io.WriteString(connection, head("POST", jobsPath, adasKey, len(body))+body); err != nil {
			t.Fatal(err)
		}
		got, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, got.Body); err != nil || got.StatusCode != 400 {
			t.Fatalf("%d %v", got.StatusCode, err)
		}
	}
}
