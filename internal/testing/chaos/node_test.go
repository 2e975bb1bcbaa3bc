package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"standin/internal/jobs/jobfiles"
	"standin/internal/launch/process"
	"standin/internal/testing/logtail"
	"standin/internal/testing/testprocess"
)

// node is a service in its own process.
type node struct {
	settings nodeSettings
	log      string   // file
	proxy    *dbProxy // to the database; nil on SQLite

	mu      sync.Mutex
	process *exec.Cmd
	exited  <-chan struct{}
}

// url returns the base URL of the node.
func (n *node) url() string { return "http://" + n.settings.Listen }

// start starts the node's process.
func (n *node) start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	text, err := json.Marshal(n.settings)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(context.Background(), os.Args[0]) // killed by the faults and at the end
	cmd.Env = append(os.Environ(), envNode+"="+string(text))
	cmd.Stdout, cmd.Stderr = log, log
	exited, err := testprocess.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return fmt.Errorf("start node %s: %w", n.settings.Name, err)
	}
	n.process, n.exited = cmd, exited
	return nil
}

// signal sends the node's process a signal.
func (n *node) signal(signal syscall.Signal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.process.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// end signals the node's process and waits until it exits.
func (n *node) end(signal syscall.Signal) error {
	if err := n.signal(signal); err != nil {
		return err
	}
	select {
	case <-n.exited:
		return nil
	case <-time.After(3 * time.Minute):
		return fmt.Errorf("node %s does not exit", n.settings.Name)
	}
}

// awaitHealthy waits until the node answers. It restarts the node if its process has
// exited, as a node does that cannot reach its database at start.
func (n *node) awaitHealthy(ctx context.Context) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if answers(ctx, n.url()+"/healthz") {
			return nil
		}
		select {
		case <-n.exited:
			if err := n.start(); err != nil {
				return err
			}
		default:
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("node %s does not answer: %w", n.settings.Name, ctx.Err())
		}
	}
}

// answers reports whether a request succeeds.
func answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// freeAddress returns an unused address.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// newNode prepares a node with its data in a directory.
func newNode(t *testing.T, dir, name, database string, recordings recordingStorage) *node {
	t.Helper()
	listen := freeAddress(t)
	n := &node{
		log: filepath.Join(t.TempDir(), name+".log"), // not on the disk that becomes full
		settings: nodeSettings{
			Name: name, Listen: listen, BaseURL: "http://" + listen, DataDir: filepath.Join(dir, name),
			DatabaseURL: database, StorageURL: recordings.address(),
		},
	}
	t.Cleanup(func() {
		n.mu.Lock()
		running := n.process != nil
		n.mu.Unlock()
		if !running {
			return
		}
		_ = n.signal(syscall.SIGCONT)
		if err := n.end(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("last part of the log of %s:\n%s", name, lastLines(n.log))
		}
	})
	return n
}

// lastLines returns the last lines of a file.
func lastLines(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return logtail.Last(string(text))
}

// signalBots signals the processes of the node's bots.
func (n *node) signalBots(signal syscall.Signal) error {
	files, err := filepath.Glob(filepath.Join(jobfiles.BotsDir(n.settings.DataDir), "*", pidFile))
	if err != nil {
		return err
	}
	for _, file := range files {
		used, err := process.InUse(filepath.Dir(file))
		if err != nil || !used {
			continue // it has ended
		}
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		pid, parseErr := strconv.Atoi(string(text))
		if err := errors.Join(err, parseErr); err != nil {
			return err
		}
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}
