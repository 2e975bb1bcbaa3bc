package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"standin/client"
	"strconv"
	"strings"
	"time"
)

// systemd tells the service manager about this process, as sd_notify(3) describes. Without a
// service manager it does nothing.
type systemd struct {
	socket   string        // empty without a service manager
	watchdog time.Duration // in which the manager expects a sign of life; 0 means never
}

// newSystemd reads how to reach the service manager, and removes that from the environment, so
// that no other process speaks for this one.
func newSystemd() (systemd, error) {
	s := systemd{socket: os.Getenv("NOTIFY_SOCKET")}
	if process := os.Getenv("WATCHDOG_PID"); process == "" || process == strconv.Itoa(os.Getpid()) {
		if microseconds, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64); err == nil && s.socket != "" {
			s.watchdog = time.Duration(microseconds) * time.Microsecond
		}
	}
	return s, errors.Join(os.Unsetenv("NOTIFY_SOCKET"), os.Unsetenv("WATCHDOG_PID"), os.Unsetenv("WATCHDOG_USEC"))
}

// notify sends assignments such as READY=1.
func (s systemd) notify(assignments ...string) error {
	if s.socket == "" {
		return nil
	}
	connection, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	_, err = connection.Write([]byte(strings.Join(assignments, "\n")))
	return errors.Join(err, connection.Close())
}

// watch sends a sign of life as long as the service at the address answers, until ctx ends. It
// asks what the liveness probes of containers ask: a restart does not repair a database or a
// store that is away.
func (s systemd) watch(ctx context.Context, address string, log *slog.Logger) {
	if s.watchdog <= 0 {
		return
	}
	ticker := time.NewTicker(s.watchdog / 3)
	defer ticker.Stop()
	for {
		err := healthy(ctx, address, s.watchdog/3)
		if err == nil {
			err = s.notify("WATCHDOG=1")
		}
		if err != nil && ctx.Err() == nil {
			log.Error("the service does not answer; the service manager will restart it", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// healthy asks the service at an address whether it is alive.
func healthy(ctx context.Context, address string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	service, err := client.New("http://"+address, "")
	if err != nil {
		return err
	}
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // without the proxy of the environment
	return service.WithHTTPClient(direct).WithRetries(0).Health(ctx)
}
