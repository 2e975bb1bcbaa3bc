// Package s3test provides a local S3-compatible server in a separate process, and
// proxies to it that inject faults.
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
	"syscall"
	"testing"
	"time"

	"standin/internal/testing/gobuild"
)

// ErrMissing is the error of Start when the server cannot be built.
var ErrMissing = errors.New("the S3 server of the tests cannot be built (the first build needs Go's module proxy)")

// The credentials of a Server. Only the test can connect to it.
const (
	accessKey = "TESTACCESSKEY"
	secretKey = "a-secret-key-of-tests"
	region    = "us-east-1"
)

// startTimeout is the time limit for the server to start on a busy machine.
const startTimeout = time.Minute

// Server is a running S3-compatible server.
type Server struct {
	folder  string
	process *exec.Cmd
	input   io.Closer     // the server exits when it is closed
	drained chan struct{} // closed after its output was read
	buckets atomic.Int64
}

// Environment returns the environment variables of clients of a Server.
func Environment() map[string]string {
	return map[string]string{
		"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_REGION": region, "AWS_EC2_METADATA_DISABLED": "true",
	}
}

// ForTest starts a server for one test, which it skips if the server cannot be built,
// except in CI.
func ForTest(t *testing.T) *Server {
	t.Helper()
	server, err := Start(t.Context())
	if errors.Is(err, ErrMissing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// Start builds and starts the server. The first build takes one or two minutes; the
// program is kept in the user's cache directory. If it cannot be built, the error is
// ErrMissing.
func Start(ctx context.Context) (*Server, error) {
	// The path of a socket is limited to about 100 characters (unix(7)), so it
	// cannot be in the test's temporary folder.
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
	binary, lock, err := build(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMissing, err)
	}
	// Until the server has started, nobody may replace its program.
	defer lock.Close()
	s.process = exec.CommandContext(context.WithoutCancel(ctx), binary, s.folder, s.socket()) // until Stop
	// With the flags of the tests, the server reports its own races, and sleeps for a
	// second before it exits.
	s.process.Env = []string{"GORACE=exitcode=0 atexit_sleep_ms=0"}
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
		stopErr := s.Stop() // after which log is complete
		return errors.Join(fmt.Errorf("the S3 server does not start: %s", log.String()), stopErr)
	case <-time.After(startTimeout):
		return fmt.Errorf("the S3 server is not ready after %v", startTimeout)
	}
}

// build builds the server unless the program of an earlier build is current, which go
// build finds out. Nobody else builds until the lock is closed.
func build(ctx context.Context) (binary string, lock io.Closer, err error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		folder = os.TempDir()
	}
	binary = filepath.Join(folder, "standin", "s3server")
	if err := os.MkdirAll(filepath.Dir(binary), 0o700); err != nil {
		return "", nil, err
	}
	file, err := os.OpenFile(binary+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return "", nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
	}
	_, source, _, _ := runtime.Caller(0)
	arguments := append([]string{"build", "-o", binary}, gobuild.Flags()...)
	command := exec.CommandContext(ctx, "go", append(arguments, ".")...)
	command.Dir = filepath.Join(filepath.Dir(source), "server")
	if output, err := command.CombinedOutput(); err != nil {
		return "", nil, errors.Join(fmt.Errorf("%w: %s", err, output), file.Close())
	}
	return binary, file, nil
}

func (s *Server) socket() string { return filepath.Join(s.folder, "socket") }

// dial connects to the server.
func (s *Server) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", s.socket())
}

// newBucket creates an empty bucket, which is a folder of this server.
func (s *Server) newBucket() (string, error) {
	name := fmt.Sprintf("recordings-%d", s.buckets.Add(1))
	return name, os.MkdirAll(s.bucketFolder(name), 0o700)
}

func (s *Server) bucketFolder(name string) string { return filepath.Join(s.folder, "buckets", name) }

// address returns the URL of a bucket on a host, for gocloud.dev.
func address(bucket, host string) string {
	query := url.Values{
		"region": {region}, "endpoint": {"http://" + host}, "hostname_immutable": {"true"}, "use_path_style": {"true"},
	}
	return (&url.URL{Scheme: "s3", Host: bucket, RawQuery: query.Encode()}).String()
}

// Stop stops the server and removes its files.
func (s *Server) Stop() error {
	var exitErr error
	if s.input != nil {
		_ = s.input.Close() // stops the server
		<-s.drained
		exitErr = s.process.Wait()
		s.input = nil
	}
	return errors.Join(exitErr, os.RemoveAll(s.folder))
}

// Main starts a server, calls use with it, runs the tests of a package and stops
// the server. It returns the exit code. If the server cannot be built, use is
// called with nil, except in CI, where Main returns 1. Main sets the variables of
// Environment in the process.
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
