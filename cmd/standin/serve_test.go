package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/server/service"
)

// notifySocket receives what a service tells its manager.
func notifySocket(t *testing.T) (path string, messages *lockedBuffer) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	messages = new(lockedBuffer)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for buffer := make([]byte, 4096); ; {
			n, err := socket.Read(buffer)
			if err != nil {
				return
			}
			_, _ = messages.Write(append(buffer[:n], '\n')) // cannot fail
		}
	}()
	t.Cleanup(func() { _ = socket.Close(); <-ended })
	return path, messages
}

// TestServe runs the service with a mail worker and a service manager, which hears that it
// listens, lives and stops. An invitation is scheduled, listed and retried.
func TestServe(t *testing.T) {
	t.Parallel()
	path, messages := notifySocket(t)
	c := newAdmin(t)
	serve := exec.CommandContext(t.Context(), testedBinary(),
		append(wordsOf("serve --listen=127.0.0.1:0 --launcher=manual --mail --mail-smtp-listen=127.0.0.1:0 --mail-recipients=notes@bots.example.test --mail-senders=* --mail-networks=127.0.0.0/8"), c.flags...)...)
	serve.Env = append(os.Environ(), "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=1000000", "STANDIN_LISEN=secret", "STANDIN_UNHEARD_OF=secret")
	output := new(lockedBuffer)
	serve.Stdout, serve.Stderr = output, output
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	messages.await(t, `READY=1\nSTATUS=Listening on http://127\.0\.0\.1:`)
	messages.await(t, `WATCHDOG=1`)
	output.await(t, `/welcome\?token=`)
	client, err := smtp.Dial(output.await(t, `standin mail receiving on (\S+)`))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.SendMail("ada@example.test", []string{"notes@bots.example.test"},
		strings.NewReader(invitation("meet.google.com"))); err != nil {
		t.Fatal(err)
	}
	const accepted = `REASON\n(?P<ID>[0-9a-f-]{36}) [^\n]*ada@example\.test  Review   accepted  1 [^\n]*\n$`
	c.await("mail list", accepted)
	c.rows(row{"mail list --json", 0, `"kind": "scheduled"`, ``}, row{"mail retry $ID", 0, ``, ``})
	c.await("mail list", accepted)
	c.rows(row{"mail retry 01900000-0000-7000-8000-000000000000", exitFailed, ``, ``})
	for _, want := range []string{"name=STANDIN_LISEN did_you_mean=STANDIN_LISTEN\n", "name=STANDIN_UNHEARD_OF\n"} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("the service does not log %q", want)
		}
	}
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	messages.await(t, `STOPPING=1`)
	if err := serve.Wait(); err != nil || strings.Contains(output.String(), "secret") {
		t.Errorf("%v: %s", err, output.String())
	}
}

// TestServeFails checks that serve ends with an error if recordings cannot be stored.
func TestServeFails(t *testing.T) {
	t.Parallel()
	serve := exec.CommandContext(t.Context(), testedBinary(), "serve", "--listen", "127.0.0.1:0", "--data-dir", newDataDir(t),
		"--storage-url", "s3://recordings?region=_")
	serve.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b")
	out, err := serve.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !strings.Contains(string(out), "recordings cannot be stored") ||
		!strings.Contains(string(out), "invalid input region") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestWatchdog checks that a service that does not answer gives no sign of life.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	path, messages := notifySocket(t)
	var asked atomic.Int32
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" || asked.Add(1) <= 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer service.Close()
	manager := systemd{socket: path, watchdog: 60 * time.Millisecond}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		manager.watch(t.Context(), service.Listener.Addr().String(), slog.New(slog.DiscardHandler))
	}()
	messages.await(t, `WATCHDOG=1`)
	if got := asked.Load(); got < 4 {
		t.Errorf("a sign of life after %d requests", got)
	}
	t.Cleanup(func() { <-ended }) // after the test's context
}

// TestMissingBrowser checks that a service without a browser logs at start what to
// install, and that a job fails with the same advice after several launch
// attempts.
func TestMissingBrowser(t *testing.T) {
	long(t)
	t.Parallel()
	log, timeouts := new(lockedBuffer), dispatch.DefaultTimeouts()
	timeouts.Launch = 2500 * time.Millisecond
	s, err := service.Start(t.Context(), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: newDataDir(t)}, Executable: "/nowhere/standin", Timeouts: timeouts,
		Bots: launch.BotSettings{Browser: filepath.Join(t.TempDir(), "no-chromium-here")}, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	log.await(t, "correct STANDIN_BROWSER")
	c := signedIn(t, s, job.Live)
	c.rows(
		row{"jobs create $MEET --watch", exitJobFailed, `id +(?P<ID>[0-9a-f-]{36})`, `failed \(dispatch_timeout\): .*correct STANDIN_BROWSER`},
		row{"jobs get $ID --json", 0, `"status": "failed"`, ``},
	)
}
