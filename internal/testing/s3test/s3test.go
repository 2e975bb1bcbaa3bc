// Package s3test gives tests a real S3-compatible server, a process of its
// own on this machine, and lines to it on which faults can be laid. It knows
// nothing of recordings.
package s3test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// ErrMissing says that the server could not be built.
var ErrMissing = errors.New("the S3 server of the tests cannot be built (scripts/setup.sh test does it once; it needs Go's module proxy)")

// The credentials of a Server, made up: nobody but the test reaches it.
const (
	accessKey = "TESTACCESSKEY"
	secretKey = "a-secret-key-of-tests"
	region    = "us-east-1"
)

// startTimeout is how long the server may take to start on a busy machine.
const startTimeout = time.Minute

// Server is a running S3-compatible server.
type Server struct {
	folder  string
	process *exec.Cmd
	input   io.Closer     // whose end ends it
	drained chan struct{} // its output was read to the end
	buckets atomic.Int64
}

// Environment is what a process must have in its environment to use a Server.
func Environment() map[string]string {
	return map[string]string{
		"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_REGION": region, "AWS_EC2_METADATA_DISABLED": "true",
	}
}

// Start builds the server, the first time in a minute or two and from then on
// out of Go's build cache, and starts it. Where it cannot be built the error is
// ErrMissing.
func Start(ctx context.Context) (*Server, error) {
	// A socket's path has room for about 100 characters (unix(7)), which a
	// test's own folder may not leave.
	folder, err := os.MkdirTemp("", "standin-s3-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the S3 server: %w", err)
	}
	s := &Server{folder: folder}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) error {
	_, here, _, _ := runtime.Caller(0)
	build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(s.folder, "server"), ".")
	build.Dir = filepath.Join(filepath.Dir(here), "server")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %w: %s", ErrMissing, err, output)
	}
	s.process = exec.CommandContext(context.WithoutCancel(ctx), build.Args[3], s.folder, s.socket()) // until Stop
	for name, value := range Environment() {
		s.process.Env = append(s.process.Env, name+"="+value)
	}
	var log strings.Builder
	s.process.Stderr = &log
	input, err := s.process.StdinPipe()
	if err != nil {
		return err
	}
	output, err := s.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("start the S3 server: %w", err)
	}
	s.input, s.drained = input, make(chan struct{})
	ready := make(chan struct{})
	go func() {
		defer close(s.drained)
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			if lines.Text() == "ready" {
				close(ready)
			}
		}
	}()
	select {
	case <-ready:
		return nil
	case <-s.drained:
		stopped := s.Stop() // after which all it said is in the log
		return errors.Join(fmt.Errorf("the S3 server does not start: %s", log.String()), stopped)
	case <-time.After(startTimeout):
		return fmt.Errorf("the S3 server is not ready after %v", startTimeout)
	}
}

func (s *Server) socket() string { return filepath.Join(s.folder, "socket") }

// dial connects to the server.
func (s *Server) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", s.socket())
}

// newBucket makes an empty bucket: for this server, a folder.
func (s *Server) newBucket() (string, error) {
	name := fmt.Sprintf("recordings-%d", s.buckets.Add(1))
	return name, os.MkdirAll(filepath.Join(s.folder, "buckets", name), 0o700)
}

// address is what to open to reach a bucket at a host and port of this
// machine, as gocloud.dev wants it.
func address(bucket, host string) string {
	query := url.Values{
		"region": {region}, "endpoint": {"http://" + host}, "hostname_immutable": {"true"}, "use_path_style": {"true"},
	}
	return (&url.URL{Scheme: "s3", Host: bucket, RawQuery: query.Encode()}).String()
}

// Stop ends the server and removes what it kept.
func (s *Server) Stop() error {
	var ended error
	if s.input != nil {
		_ = s.input.Close() // which ends it
		<-s.drained
		ended = s.process.Wait()
		s.input = nil
	}
	return errors.Join(ended, os.RemoveAll(s.folder))
}

// Main starts a server for the tests of a package, gives it to use, runs the
// tests and stops it; it returns the exit code. Where the server cannot be
// built use gets nil, except in CI, where that is a failure. The process's
// environment gets what using the server needs.
func Main(m *testing.M, use func(*Server)) int {
	for name, value := range Environment() {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	server, err := Start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if !errors.Is(err, ErrMissing) || os.Getenv("CI") != "" {
			return 1
		}
	}
	use(server)
	code := m.Run()
	if server == nil {
		return code
	}
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the S3 server:", err)
		return 1
	}
	return code
}
