package deliverytest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// crashTry is the timeout of a try in these tests. A lease, and so the
// deliveries of a killed node, lasts twice as long.
const crashTry = 2 * time.Second

// ofJob and group are how many events each job has, and how many jobs or events a
// transaction inserts.
const ofJob, group = 10, 10

// maxPause is the longest pause between two transactions of a node. Most receivers
// respond to an event before the next one of its job is inserted.
const maxPause = 60 * time.Millisecond

// reportFormat is a line of a node's standard output: the ID of a committed event,
// its job, its sequence and its URL.
const reportFormat = "%s %s %d %s\n"

// runNode runs a sender until the process is killed, and inserts events until its
// standard input ends. The schedule is short but has many tries, so that no delivery
// fails permanently.
func runNode(address string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, address)
	if err != nil {
		return err
	}
	consumer, err := uuid.Parse(os.Getenv(envConsumer))
	if err != nil {
		return fmt.Errorf("read %s: %w", envConsumer, err)
	}
	schedule := webhook.Schedule{50 * time.Millisecond}
	for range 60 {
		schedule = append(schedule, 100*time.Millisecond)
	}
	sender := webhook.NewSender(s, webhook.Settings{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, TryTimeout: crashTry, Grace: time.Millisecond,
		Schedule: schedule, Poll: 50 * time.Millisecond, Log: slog.New(slog.NewTextHandler(os.Stderr,
			&slog.HandlerOptions{Level: slog.LevelError})),
	})
	go sender.Run(ctx)

	enough := make(chan struct{})
	go func() {
		defer close(enough)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	for urls := strings.Fields(os.Getenv(envReceivers)); ; {
		select {
		case <-enough:
			select {} // the sender goes on
		default:
		}
		if err := insertJobs(ctx, s, sender, consumer, urls[rand.IntN(len(urls))]); err != nil {
			return err
		}
	}
}

// insertJobs inserts jobs and their events: the next event of each job together.
func insertJobs(ctx context.Context, s *store.Store, sender *webhook.Sender, consumer uuid.UUID, url string) error {
	var jobs []job.Job
	for sequence := range int64(ofJob) {
		var inserted []webhook.Delivery
		err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			inserted = nil
			if sequence == 0 {
				jobs = nil
				for range group {
					j, err := newJob(ctx, tx, consumer)
					if err != nil {
						return err
					}
					jobs = append(jobs, j)
				}
			}
			for _, j := range jobs {
				d, err := insertEvent(ctx, tx, j, sequence+1, url)
				if err != nil {
					return err
				}
				inserted = append(inserted, d)
			}
			return nil
		})
		if err != nil {
			return err
		}
		sender.Wake()
		if err := report(inserted); err != nil {
			return err
		}
		<-time.After(rand.N(maxPause))
	}
	return nil
}

// report writes committed events to the standard output, in a single write, which is
// atomic in a pipe up to 4,096 bytes.
func report(inserted []webhook.Delivery) error {
	var lines bytes.Buffer
	for _, d := range inserted {
		fmt.Fprintf(&lines, reportFormat, d.ID, d.JobID, d.Sequence, d.URL)
	}
	_, err := os.Stdout.Write(lines.Bytes())
	return err
}

// nodes are the processes that are killed, one after the other.
type nodes struct {
	environment []string
	events      int           // how many they insert at least
	finished    chan struct{} // closed when they have
	finish      func()        // closes finished
	enough      chan struct{} // closed when they need not insert more

	mu       sync.Mutex
	inserted map[string]webhook.Delivery // by ID
}

func newNodes(address string, consumer uuid.UUID, receivers []*receiver, events int) *nodes {
	var urls []string
	for _, r := range receivers {
		urls = append(urls, r.url)
	}
	finished := make(chan struct{})
	return &nodes{
		environment: append(os.Environ(), envSender+"="+address, envConsumer+"="+consumer.String(), envReceivers+"="+strings.Join(urls, " ")),
		events:      events, finished: finished, finish: sync.OnceFunc(func() {
			close(finished)
		}), enough: make(chan struct{}), inserted: make(map[string]webhook.Delivery),
	}
}

// node is a running process.
type node struct {
	command *exec.Cmd
	log     *bytes.Buffer
	ended   chan struct{}
}

func (n *nodes) start(t *testing.T) *node {
	t.Helper()
	p := &node{command: exec.Command(os.Args[0]), log: new(bytes.Buffer), ended: make(chan struct{})}
	p.command.Env, p.command.Stderr = n.environment, p.log
	stdin, err := p.command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		select {
		case <-n.enough:
			_ = stdin.Close() // the node may have ended
		case <-p.ended:
		}
	}()
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			n.add(t, lines.Text())
		}
		_ = p.command.Wait() // kill checks the end
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.ended
	})
	return p
}

// add adds an event that a node has reported.
func (n *nodes) add(t *testing.T, text string) {
	var d webhook.Delivery
	var job string
	if _, err := fmt.Sscanf(text+"\n", reportFormat, &d.ID, &job, &d.Sequence, &d.URL); err != nil {
		t.Errorf("read %q of a node: %v", text, err)
		return
	}
	d.JobID = uuid.MustParse(job)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.inserted[d.ID] = d
	if len(n.inserted) >= n.events {
		n.finish()
	}
}

// await waits until the nodes have inserted their events, and lets the running ones
// insert no more.
func (n *nodes) await(t *testing.T, running *node) {
	t.Helper()
	select {
	case <-n.finished:
		close(n.enough)
	case <-running.ended:
		t.Fatalf("the node ended by itself: %v\n%s", running.command.ProcessState, running.log)
	}
}

// kill ends the node abruptly.
func (p *node) kill(t *testing.T) {
	t.Helper()
	select {
	case <-p.ended:
		t.Fatalf("the node ended by itself: %v\n%s", p.command.ProcessState, p.log)
	default:
	}
	_ = p.command.Process.Kill()
	<-p.ended
}
