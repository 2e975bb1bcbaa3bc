package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"standin/internal/account/billing"
	"standin/internal/bot/ingest"
	"standin/internal/server/httpapi"
	"standin/internal/testing/await"
)

// short is a deadline for tests that wait until it has passed.
const short = 200 * time.Millisecond

// dial opens a connection to the surface and sends a text. The connection is closed
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

// TestInvalidHTTP sends requests that net/http refuses before any handler runs.
func TestInvalidHTTP(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	for name, test := range map[string]struct {
		request string
		status  int
	}{
		"not HTTP":      {"hello\r\n\r\n", 400},
		"no host":       {"GET /healthz HTTP/1.1\r\n\r\n", 400},
		"bad path":      {"GET /api/v1/jobs/%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		"large headers": {"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 64<<10) + "\r\n\r\n", 431},
	} {
		got := readAnswer(t, s.dial(test.request))
		// as info.description says
		if got.status != test.status || got.header.Get("X-Request-Id") != "" || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %v %s", name, got.status, got.header, got.body)
		}
	}
}

// TestPaymentMethods checks that a wrong method of payments is refused after a wrong signature.
func TestPaymentMethods(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	for name, test := range map[string]struct {
		method, signature string
		status            int
	}{
		"get":                             {"GET", "", 400},
		"delete with a wrong signature":   {"DELETE", signedPayment("other", "")[billing.Header], 400},
		"delete with the right signature": {"DELETE", signedPayment(paymentSecret, "")[billing.Header], 405},
	} {
		got := s.send(t, request{test.method, paymentRoute, "", map[string]string{billing.Header: test.signature}, ""})
		if got.status != test.status || (got.body == "") != (test.status == 400) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

// readAnswer reads a response from a connection.
func readAnswer(t testing.TB, connection net.Conn) answer {
	t.Helper()
	got, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatalf("read the response: %v", err)
	}
	defer got.Body.Close() // read only
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatalf("read the response body: %v", err)
	}
	return answer{got.StatusCode, got.Header, string(body)}
}

// waitPast waits twice as long as a deadline of the server.
func waitPast(t testing.TB, deadline time.Duration) {
	t.Helper()
	select {
	case <-time.After(2 * deadline):
	case <-t.Context().Done():
	}
}

// head returns the headers of a request.
func head(method, path, bearer string, length int) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: standin\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", method, path, bearer,
		length)
}

func TestSlowClientsTimeOut(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.Timeouts = httpapi.Timeouts{Header: short, ReadJSON: short, Idle: short}
	})
	silent, half := s.dial(""), s.dial("GET /healthz HTTP/1.1\r\nHos")
	idle := s.dial("GET /healthz HTTP/1.1\r\nHost: standin\r\n\r\n")
	slow := s.dial(head("POST", jobsPath, adasKey, 100) + `{"externalId"`)
	slowStranger := s.dial(head("POST", jobsPath, "standin_live_eve", 100) + `{"externalId"`)

	if got := readAnswer(t, slow); got.status != 408 || s.checker.Response("POST", jobsPath, 408, []byte(got.body)) != nil {
		t.Errorf("half a body: %d %s, want 408", got.status, got.body)
	}
	if got := readAnswer(t, slowStranger); got.status != 401 {
		t.Errorf("half a body with a wrong key: %d %s, want 401", got.status, got.body)
	}
	if got := readAnswer(t, idle); got.status != 200 {
		t.Errorf("a request before idling: %d", got.status)
	}
	for name, connection := range map[string]net.Conn{
		"silent": silent, "half a header": half, "idle after a request": idle, "half a body": slow, "half a body with a wrong key": slowStranger,
	} {
		if _, err := io.Copy(io.Discard, connection); err != nil {
			t.Errorf("%s: the server did not close the connection: %v", name, err)
		}
	}
}

// TestHeldHeartbeatIgnoresBodyTimeout holds a heartbeat for longer than the timeout
// of a body.
func TestHeldHeartbeatIgnoresBodyTimeout(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.Timeouts = httpapi.Timeouts{Header: short, ReadJSON: short, Idle: short, WriteJSON: short}
	})
	connection := s.heldHeartbeat("60")
	waitPast(t, short)
	if _, err := s.jobs.SendChatMessage(t.Context(), s.ada, newAdaJob, "hello"); err != nil {
		t.Fatal(err)
	}
	got := readAnswer(t, connection)
	if got.status != 200 || !strings.Contains(got.body, "send_chat_message") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if err := s.checker.Response("POST", ingest.HeartbeatPath, got.status, []byte(got.body)); err != nil {
		t.Error(err)
	}
}

// heldHeartbeat sends a heartbeat that waits for a command.
func (s *surface) heldHeartbeat(wait string) net.Conn {
	body := `{"jobId":"` + newAdaJob.String() + `","attempt":0}`
	return s.dial(head("POST", ingest.HeartbeatPath+"?wait="+wait, token(newAdaJob, 0), len(body)) + body)
}

func TestClosedHeartbeatIsNotAnError(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	connection := s.heldHeartbeat("1e300")
	await.Until(t, "the heartbeat", func() bool {
		r, err := s.store.Job(t.Context(), newAdaJob)
		return err == nil && !r.HeartbeatAt.IsZero()
	})
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
	text := s.logged(t, 1)[0]
	if text["status"] != 499.0 || text["level"] != "DEBUG" {
		t.Errorf("the log line is %v", text)
	}
}

func TestSlowUploadsSucceed(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.Timeouts = httpapi.Timeouts{Header: short, ReadJSON: short, Stall: 20 * short, Idle: short}
	})
	path := ingest.MediaPath + "/" + newAdaJob.String() + "/0/recording-000-000000.mp4s"
	header := strings.Replace(head("PUT", path, token(newAdaJob, 0), 10), "\r\n\r\n", "\r\n"+ingest.ChecksumHeader+": "+sumOf("0123456789")+
		"\r\n\r\n", 1)
	slow := s.dial(header + "01234")
	waitPast(t, short)
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
	uploads, err := s.storage.Uploads(t.Context(), newAdaJob)
	if err != nil || len(uploads) > 0 {
		t.Errorf("a stalled upload was stored: %+v (%v)", uploads, err)
	}
}

// TestStalledReaderTimesOut requests a file that is larger than the buffers of the
// kernel and does not read it.
func TestStalledReaderTimesOut(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.Timeouts = httpapi.Timeouts{Stall: short}
	})
	video := strings.Repeat("x", 32<<20)
	s.storeRecording(video)
	s.dial(head("GET", jobsPath+"/"+adasJob.String()+"/media/recording.mp4", adasKey, 0))
	text := s.logged(t, 1)[0]
	if sent, _ := text["bytes"].(float64); sent >= float64(len(video)) {
		t.Errorf("the whole file was sent: %v", text)
	}
}
