package spool_test

import (
	"bytes"
	"testing"

	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
)

// BenchmarkAppend adds segments of two seconds at 1.2 Mbit/s.
func BenchmarkAppend(b *testing.B) {
	s := open(b, b.TempDir(), spool.Settings{Limit: 1 << 40})
	data := bytes.Repeat([]byte("x"), 300_000)
	b.SetBytes(int64(len(data)))
	sequence := 0
	for b.Loop() {
		if err := s.AppendSegment(0, sequence, data); err != nil {
			b.Fatal(err)
		}
		sequence++
	}
}

func BenchmarkAppendEvent(b *testing.B) {
	s := open(b, b.TempDir(), spool.Settings{})
	for b.Loop() {
		if _, err := s.AppendEvent(job.BotJoined, nil); err != nil {
			b.Fatal(err)
		}
	}
}
