package tracing

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/google/uuid"
)

type (
	traceID [16]byte
	spanID  [8]byte
)

// spanKind is the kind of a span, with the numbers of OTLP.
type spanKind int32

const (
	kindInternal spanKind = 1
	kindServer   spanKind = 2
	kindClient   spanKind = 3
)

// span is a span that has ended.
type span struct {
	trace      traceID
	id         spanID
	parent     spanID // zero for the root of a trace
	remote     bool   // the parent is a span of another service
	name       string
	kind       spanKind
	start, end time.Time
	attributes []attribute
	events     []spanEvent
	link       spanContext // zero for none
	failed     bool
}

// spanContext identifies a span.
type spanContext struct {
	trace   traceID
	span    spanID
	sampled bool
}

// spanEvent is an event at a point in time during a span.
type spanEvent struct {
	at         time.Time
	name       string
	attributes []attribute
}

// maxText limits the texts of attributes, in bytes. All are identifiers.
const maxText = 256

// attribute is a text or, if isNumber, a number.
type attribute struct {
	key      string
	text     string
	number   int64
	isNumber bool
}

func text(key, value string) attribute {
	return attribute{key: key, text: value[:min(len(value), maxText)]}
}

func number(key string, value int64) attribute {
	return attribute{key: key, number: value, isNumber: true}
}

// jobTrace returns the trace of a job.
func jobTrace(jobID uuid.UUID) traceID { return traceID(jobID) }

// derivedSpan returns the ID of a span of a job. The same parts have the same ID
// on every node.
func derivedSpan(jobID uuid.UUID, parts ...string) spanID {
	sum := sha256.New()
	sum.Write(jobID[:])
	for _, part := range parts {
		sum.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return spanID(sum.Sum(nil)[:len(spanID{})])
}

// jobSpan returns the ID of the root span of a job.
func jobSpan(jobID uuid.UUID) spanID { return derivedSpan(jobID, "job") }

// newTraceID returns a random ID.
func newTraceID() (id traceID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// newSpanID returns a random ID.
func newSpanID() (id spanID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// randomness returns the random part of a trace ID: its last 56 bits, as in W3C
// Trace Context, level 2. Those of a UUID of version 7 are random too.
func (id traceID) randomness() uint64 {
	return binary.BigEndian.Uint64(id[8:]) & (1<<56 - 1)
}
