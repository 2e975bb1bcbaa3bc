package browser

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// requireDisplay skips a test without the display server, and fails it in CI.
func requireDisplay(t *testing.T) {
	t.Helper()
	err := CheckMode(Headed)
	switch {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
}

// connect connects to a display with a key (X Window System Protocol, section 8:
// Connection Setup) and reports whether the server accepts it.
func connect(t *testing.T, number string, key []byte) bool {
	t.Helper()
	connection, err := net.Dial("unix", socketPrefix+number)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(10 * time.Second))
	method := ""
	if key != nil {
		method = "MIT-MAGIC-COOKIE-1"
	}
	request := []byte{'l', 0}
	for _, value := range []int{11, 0, len(method), len(key), 0} {
		request = binary.LittleEndian.AppendUint16(request, uint16(value))
	}
	request = append(request, method...)
	request = append(request, make([]byte, (4-len(method)%4)%4)...)
	request = append(request, key...)
	if _, err := connection.Write(request); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1)
	if _, err := io.ReadFull(connection, answer); err != nil {
		t.Fatal(err)
	}
	return answer[0] == 1
}

func TestDisplay(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	t.Parallel()
	requireDisplay(t)
	start := func() *display {
		d, err := startDisplay(t.Context(), t.TempDir(), 640, 480)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.close)
		return d
	}
	first, second := start(), start()
	number := strings.TrimPrefix(first.name, ":")
	if first.name == second.name {
		t.Fatalf("both displays are %s", first.name)
	}

	t.Run("only clients with the key are accepted", func(t *testing.T) {
		info, err := os.Stat(first.authority)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("the key's file has mode %v, %v; want 0600", info.Mode(), err)
		}
		file, err := os.ReadFile(first.authority)
		if err != nil {
			t.Fatal(err)
		}
		other, err := os.ReadFile(second.authority)
		if err != nil {
			t.Fatal(err)
		}
		for name, test := range map[string]struct {
			key  []byte
			want bool
		}{
			"its own key":         {file[len(file)-16:], true},
			"no key":              {nil, false},
			"key of the other":    {other[len(other)-16:], false},
			"key of another size": {file[len(file)-8:], false},
		} {
			if got := connect(t, number, test.key); got != test.want {
				t.Errorf("%s: accepted is %v", name, got)
			}
		}
	})
	t.Run("it does not listen on TCP", func(t *testing.T) {
		display, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		const firstPort = 6000
		address := net.JoinHostPort("localhost", strconv.Itoa(firstPort+display))
		if connection, err := net.Dial("tcp", address); err == nil {
			connection.Close()
			t.Errorf("a connection to %s was accepted", address)
		}
	})
	t.Run("close removes its files", func(t *testing.T) {
		first.close()
		checkRemoved(t, number)
	})
	t.Run("a killed display leaves no files", func(t *testing.T) {
		if err := second.process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-second.ended()
		if !strings.Contains(second.cause.Error(), "killed") {
			t.Errorf("cause = %v, want the signal", second.cause)
		}
		second.close()
		checkRemoved(t, strings.TrimPrefix(second.name, ":"))
	})
}

// checkRemoved checks that a display has no lock file, and no socket unless another
// display has its number now.
func checkRemoved(t *testing.T, number string) {
	t.Helper()
	if _, err := os.Stat("/tmp/.X" + number + "-lock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock file exists: %v", err)
	}
	if connection, err := net.Dial("unix", socketPrefix+number); err == nil {
		connection.Close()
	} else if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket exists: %v", err)
	}
}

// A display that does not start is an error with the server's output and advice.
func TestDisplayDoesNotStart(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder+":/usr/bin:/bin")
	for _, test := range []struct {
		name, script string
		timeout      time.Duration
		want         string
	}{
		{"exits", "echo no such screen >&2; exit 1", time.Minute, "no such screen"},
		{"no number", "echo nothing >&3", time.Minute, "read the display's number"},
		{"hangs", "exec sleep 60", 100 * time.Millisecond, "context deadline exceeded"},
	} {
		if err := os.WriteFile(filepath.Join(folder, displayServer), []byte("#!/bin/sh\n"+test.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
		_, err := startDisplay(ctx, t.TempDir(), 640, 480)
		cancel()
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "STANDIN_BROWSER_MODE") {
			t.Errorf("%s: %v; want an error with %q", test.name, err, test.want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if err := CheckMode(Headed); err == nil || !strings.Contains(err.Error(), "apt-get install xvfb") {
		t.Errorf("CheckMode without the server = %v, want advice", err)
	}
	if err := CheckMode(Headless); err != nil {
		t.Errorf("CheckMode(Headless) = %v", err)
	}
}
