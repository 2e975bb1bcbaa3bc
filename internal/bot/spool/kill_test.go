package spool_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"standin/internal/bot/ingest"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
)

// These environment variables make the test binary fill the spool in a folder:
// until it is killed, or until a limit of file sizes is reached.
const (
	writerDir = "STANDIN_TEST_SPOOL_WRITER"
	limitDir  = "STANDIN_TEST_SPOOL_LIMITED"
)

func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(writerDir) != "":
		err = fill(os.Getenv(writerDir))
	case os.Getenv(limitDir) != "":
		err = fillLimited(os.Getenv(limitDir))
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fill writes to stdout what the spool has accepted.
func fill(dir string) error {
	s, err := spool.Open(dir, spool.Settings{})
	if err != nil {
		return err
	}
	first := len(s.Segments(0))
	for sequence := first; ; sequence++ {
		event, err := s.AppendEvent(job.BotJoined, nil)
		if err != nil {
			return err
		}
		fmt.Println("event", event.Number)
		if err := s.AppendSegment(0, sequence, content(sequence)); err != nil {
			return err
		}
		fmt.Println("segment", sequence)
		if _, version, err := s.OpenFile(ingest.SegmentName(0, sequence)); err != nil {
			return err
		} else if err := s.MarkUploaded(version); err != nil {
			return err
		}
		fmt.Println("uploaded", sequence)
	}
}

func content(sequence int) []byte { return []byte(strings.Repeat(strconv.Itoa(sequence)+",", 10_000)) }

// TestKillLosesNothing kills a process that writes with SIGKILL, repeatedly in the
// same folder.
func TestKillLosesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spool")
	accepted := map[string]int{"event": 0, "segment": -1}
	marked := map[string]bool{}
	for round := range 5 {
		writer := exec.Command(os.Args[0])
		writer.Env = append(os.Environ(), writerDir+"="+dir)
		output, err := writer.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(output)
		for count := 0; lines.Scan(); count++ {
			what, number, _ := strings.Cut(lines.Text(), " ")
			accepted[what], err = strconv.Atoi(number)
			if err != nil {
				t.Fatalf("the writer printed %q", lines.Text())
			}
			if what == "uploaded" {
				marked[ingest.SegmentName(0, accepted[what])] = true
			}
			if count == 10+7*round {
				if err := writer.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = writer.Wait() // it was killed

		s := open(t, dir, spool.Settings{})
		if s.Events.Waiting() < accepted["event"] {
			t.Fatalf("round %d: %d events of %d accepted", round, s.Events.Waiting(), accepted["event"])
		}
		segments := s.Segments(0)
		if len(segments) < accepted["segment"]+1 {
			t.Fatalf("round %d: %d segments of %d accepted", round, len(segments), accepted["segment"]+1)
		}
		for sequence := range segments {
			if _, data := read(t, s, ingest.SegmentName(0, sequence)); string(data) != string(content(sequence)) {
				t.Errorf("round %d: segment %d is incomplete: %d bytes", round, sequence, len(data))
			}
		}
		again, _ := s.NextFile(func(name string) bool { return marked[name] })
		if again != "" {
			t.Errorf("round %d: %s was uploaded and is pending again", round, again)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// maxFileSize is the limit of file sizes in fillLimited.
const maxFileSize = 4096

// fillLimited appends events until the journal reaches the limit, and then another
// one, which must also fail.
func fillLimited(dir string) error {
	signal.Ignore(syscall.SIGXFSZ) // the write fails instead of ending the process
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: maxFileSize, Max: maxFileSize}); err != nil {
		return err
	}
	s, err := spool.Open(dir, spool.Settings{})
	if err != nil {
		return err
	}
	for failures := 0; failures < 2; {
		if _, err := s.AppendEvent(job.BotJoined, map[string]string{"detail": "some length"}); err != nil {
			failures++
		} else if failures > 0 {
			return errors.New("an event was accepted beyond the limit")
		}
	}
	fmt.Println(s.Events.Waiting())
	return nil
}

func TestFailedWriteIsUndone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spool")
	writer := exec.Command(os.Args[0])
	writer.Env = append(os.Environ(), limitDir+"="+dir)
	output, err := writer.Output()
	if err != nil {
		t.Fatalf("the writer failed: %v", err)
	}
	journal, err := os.ReadFile(filepath.Join(dir, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	if len(journal) == maxFileSize || !bytes.HasSuffix(journal, []byte("\n")) {
		t.Errorf("the journal has %d bytes and ends with %q: a line is incomplete", len(journal), journal[len(journal)-1])
	}
	s := open(t, dir, spool.Settings{})
	if accepted := strings.TrimSpace(string(output)); strconv.Itoa(s.Events.Waiting()) != accepted || accepted == "0" {
		t.Errorf("%d events, %s were accepted", s.Events.Waiting(), accepted)
	}
	if _, err := s.AppendEvent(job.BotExited, nil); err != nil {
		t.Errorf("with space again: %v", err)
	}
}
