package main

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// notifySocket receives what a service tells its manager.
func notifySocket(t *testing.T) (path string, messages <-chan string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	received, ended := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(ended)
		for buffer := make([]byte, 4096); ; {
			n, err := socket.Read(buffer)
			if err != nil {
				return
			}
			received <- string(buffer[:n])
		}
	}()
	t.Cleanup(func() { _ = socket.Close(); <-ended })
	return path, received
}

// awaitMessage waits for a message that begins with a text.
func awaitMessage(t *testing.T, messages <-chan string, want string) {
	t.Helper()
	for timeout := time.After(time.Minute); ; {
		select {
		case got := <-messages:
			if strings.HasPrefix(got, want) {
				return
			}
		case <-timeout:
			t.Fatalf("no message %s", want)
		}
	}
}

// TestServiceManager checks that the service says when it listens, that it lives, and when it stops.
func TestServiceManager(t *testing.T) {
	t.Parallel()
	path, messages := notifySocket(t)
	serve := exec.CommandContext(t.Context(), testedBinary(), "serve", "--data-dir", newDataDir(t), "--listen", "127.0.0.1:0", "--launcher", "manual")
	serve.Env = append(os.Environ(), "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=1000000")
	serve.Stdout, serve.Stderr = t.Output(), t.Output()
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	awaitMessage(t, messages, "READY=1\nSTATUS=Listening on http://127.0.0.1:")
	awaitMessage(t, messages, "WATCHDOG=1")
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitMessage(t, messages, "STOPPING=1")
	if err := serve.Wait(); err != nil {
		t.Error(err)
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
	awaitMessage(t, messages, "WATCHDOG=1")
	if got := asked.Load(); got < 4 {
		t.Errorf("a sign of life after %d requests", got)
	}
	t.Cleanup(func() { <-ended }) // after the test's context
}
