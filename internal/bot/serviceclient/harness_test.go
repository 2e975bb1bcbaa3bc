package serviceclient_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/serviceclient"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
	"standin/internal/testing/logtail"
)

// bot is a running client with its spool.
type bot struct {
	t      *testing.T
	spool  *spool.Spool
	client *serviceclient.Client
	log    *logtail.Buffer
	kill   context.CancelFunc
	ended  chan error
}

func startBot(t *testing.T, s *service, dir string) *bot {
	t.Helper()
	return startBotWith(t, s, dir, func(*serviceclient.Settings) {})
}

func startBotWith(t *testing.T, s *service, dir string, change func(*serviceclient.Settings)) *bot {
	t.Helper()
	b := &bot{t: t, log: &logtail.Buffer{}, ended: make(chan error, 1)}
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
	if b.client, err = serviceclient.New(settings); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.kill = cancel
	go func() { b.ended <- b.client.Run(ctx) }()
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
	case <-time.After(2 * time.Minute):
		b.t.Error("Run did not return")
		return nil
	}
}

func (b *bot) emit(kinds ...job.Trigger) {
	b.t.Helper()
	for _, kind := range kinds {
		if err := b.client.Emit(kind, nil); err != nil {
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
	if err := b.client.Flush(ctx); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bot) awaitTermination() serviceclient.Termination {
	b.t.Helper()
	select {
	case <-b.client.Done():
	case <-time.After(2 * time.Minute):
		b.t.Fatal("the bot is not terminated")
	}
	return b.client.Termination()
}

func (b *bot) command() ingest.Command {
	b.t.Helper()
	select {
	case command := <-b.client.Commands():
		return command
	case <-time.After(2 * time.Minute):
		b.t.Fatal("no command received")
		return ingest.Command{}
	}
}

// removeSegment removes a segment from the disk without the spool.
func removeSegment(s *spool.Spool, sequence int) error {
	return os.Remove(s.Segments(0)[sequence])
}
