package serviceclient_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/serviceclient"
	"standin/internal/bot/spool"
	"standin/internal/ingest"
	"standin/internal/job"
)

// bot is a channel that runs, as a bot would have it.
type bot struct {
	t       *testing.T
	spool   *spool.Spool
	channel *serviceclient.Client
	log     *logBuffer
	kill    context.CancelFunc
	ended   chan error
}

func startBot(t *testing.T, s *service, dir string) *bot {
	t.Helper()
	return startBotWith(t, s, dir, func(*serviceclient.Settings) {})
}

func startBotWith(t *testing.T, s *service, dir string, change func(*serviceclient.Settings)) *bot {
	t.Helper()
	b := &bot{t: t, log: &logBuffer{}, ended: make(chan error, 1)}
	var err error
	if b.spool, err = spool.Open(dir, spool.Settings{}); err != nil {
		t.Fatal(err)
	}
	settings := serviceclient.Settings{
		ServiceURL: s.URL(), JobID: jobID, Attempt: attempt, Token: token, Spool: b.spool,
		Log:      slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		RetryMin: time.Millisecond, RetryMax: 20 * time.Millisecond,
	}
	change(&settings)
	if b.channel, err = serviceclient.New(settings); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.kill = cancel
	go func() { b.ended <- b.channel.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		b.awaitEnd()
	})
	return b
}

// awaitEnd returns what Run returned.
func (b *bot) awaitEnd() error {
	b.t.Helper()
	select {
	case err := <-b.ended:
		b.ended <- err
		return err
	case <-time.After(10 * time.Second):
		b.t.Error("Run does not return")
		return nil
	}
}

func (b *bot) emit(kinds ...job.Trigger) {
	b.t.Helper()
	for _, kind := range kinds {
		if err := b.channel.Emit(kind, nil); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bot) record(sequence int, data string) {
	b.t.Helper()
	if err := b.spool.AppendSegment(0, sequence, []byte(data)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bot) put(data string) {
	b.t.Helper()
	if err := b.spool.Put(ingest.ReportName, []byte(data)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bot) flush() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := b.channel.Flush(ctx); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bot) awaitVerdict() serviceclient.Termination {
	b.t.Helper()
	select {
	case <-b.channel.Done():
	case <-time.After(10 * time.Second):
		b.t.Fatal("no verdict")
	}
	return b.channel.Termination()
}

func (b *bot) command() ingest.Command {
	b.t.Helper()
	select {
	case command := <-b.channel.Commands():
		return command
	case <-time.After(10 * time.Second):
		b.t.Fatal("no command arrives")
		return ingest.Command{}
	}
}

// logBuffer keeps a log that several goroutines write.
type logBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (l *logBuffer) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.buffer.Write(line)
}

func (l *logBuffer) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.buffer.String()
}

// removeSegment takes a segment off the disk behind the spool's back.
func removeSegment(s *spool.Spool, sequence int) error {
	return os.Remove(s.Segments(0)[sequence])
}
