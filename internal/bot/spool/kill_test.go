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

	"standin/internal/bot/spool"
	"standin/internal/ingest"
	"standin/internal/job"
)

// When one of these names a folder, the test binary is a process that fills
// the spool there: until it is killed, or until no file may grow any more.
const (
	writerDir = "STANDIN_TEST_SPOOL_WRITER"
	crampDir  = "STANDIN_TEST_SPOOL_CRAMPED"
)

func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(writerDir) != "":
		err = fill(os.Getenv(writerDir))
	case os.Getenv(crampDir) != "":
		err = fillCramped(os.Getenv(crampDir))
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fill says on stdout what the spool has accepted, after it has.
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

// TestNothingAcceptedIsLostWhenTheBotIsKilled kills a real process with
// SIGKILL in the middle of its writing, again and again on the same folder.
func TestNothingAcceptedIsLostWhenTheBotIsKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spool")
	said := map[string]int{"event": 0, "segment": -1}
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
			said[what], err = strconv.Atoi(number)
			if err != nil {
				t.Fatalf("the writer said %q", lines.Text())
			}
			if what == "uploaded" {
				marked[ingest.SegmentName(0, said[what])] = true
			}
			if count == 10+7*round {
				if _, err := spool.Open(dir, spool.Settings{}); err == nil {
					t.Error("a folder that another process writes to was opened")
				}
				if err := writer.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = writer.Wait() // killed: that is the error

		s := open(t, dir, spool.Settings{})
		if s.WaitingEvents() < said["event"] {
			t.Fatalf("round %d: %d events of the %d accepted are there", round, s.WaitingEvents(), said["event"])
		}
		segments := s.Segments(0)
		if len(segments) < said["segment"]+1 {
			t.Fatalf("round %d: %d segments of the %d accepted are there", round, len(segments), said["segment"]+1)
		}
		for sequence := range segments {
			if _, data := read(t, s, ingest.SegmentName(0, sequence)); string(data) != string(content(sequence)) {
				t.Errorf("round %d: segment %d is torn: %d bytes", round, sequence, len(data))
			}
		}
		again, _ := s.NextFile(func(name string) bool { return marked[name] })
		if again != "" {
			t.Errorf("round %d: %s was marked uploaded and waits again", round, again)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// crampedSize is the most bytes a file may have in fillCramped.
const crampedSize = 4096

// fillCramped appends events until the system lets the journal grow no more,
// and then once more, which must fail as well.
func fillCramped(dir string) error {
	signal.Ignore(syscall.SIGXFSZ) // the write fails; the process is not to be ended
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: crampedSize, Max: crampedSize}); err != nil {
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
	fmt.Println(s.WaitingEvents())
	return nil
}

func TestAWriteThatFailsHalfwayLeavesNoTrace(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spool")
	writer := exec.Command(os.Args[0])
	writer.Env = append(os.Environ(), crampDir+"="+dir)
	output, err := writer.Output()
	if err != nil {
		t.Fatalf("the writer failed: %v", err)
	}
	journal, err := os.ReadFile(filepath.Join(dir, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	if len(journal) == crampedSize || !bytes.HasSuffix(journal, []byte("\n")) {
		t.Errorf("the journal has %d bytes and ends in %q: half a line was left", len(journal), journal[len(journal)-1])
	}
	s := open(t, dir, spool.Settings{})
	if accepted := strings.TrimSpace(string(output)); strconv.Itoa(s.WaitingEvents()) != accepted || accepted == "0" {
		t.Errorf("%d events are there, %s were accepted", s.WaitingEvents(), accepted)
	}
	if _, err := s.AppendEvent(job.BotExited, nil); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
