package httpmw

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"standin/internal/base/budget"
)

// Bounds of Bodies, in bytes.
const (
	callersTotal   = 16 << 20 // arrived and not yet decoded
	strangersTotal = 8 << 20

	// A decoded body takes up to fifty times its size.
	smallBody              = 64 << 10
	smallDecoding          = 512 << 10
	smallDecodingPerClient = 256 << 10
	largeDecoding          = 1 << 20 // the largest body
)

// Bodies bounds the memory of the bodies that this process reads and decodes. A body counts
// as its bytes arrive. Authenticated requests, whose Record has a Caller, do not compete
// with those of strangers, except that one large body is decoded at a time. It is safe for
// concurrent use.
type Bodies struct {
	callers, strangers bodyBudget
	large              *budget.Budget // being decoded
}

// bodyBudget is what bodies may use: of callers by name, or of strangers by address.
type bodyBudget struct {
	arrived *budget.Pool
	small   *budget.Budget // being decoded; small bodies do not wait for large ones
}

// NewBodies returns a Bodies for a process.
func NewBodies() *Bodies {
	newBudget := func(total int64) bodyBudget {
		return bodyBudget{budget.NewPool(total), budget.New(smallDecoding, smallDecodingPerClient, 0)}
	}
	return &Bodies{newBudget(callersTotal), newBudget(strangersTotal), budget.New(largeDecoding, largeDecoding, 0)}
}

// Body is the body of a request, which was read. Only Bodies.Open gives access to its bytes, so
// that nobody decodes them out of turn. As the Body of the request, Open takes it. It must be
// opened or closed.
type Body struct {
	io.Reader // nothing is left to be read

	client string
	small  *budget.Budget
	part   *budget.Part
	bytes  []byte
}

// Read reads a body of at most limit bytes within a time. An address is the AddressKey of the
// client. The error is a *http.MaxBytesError, budget.ErrFull if the service is too busy, or
// that of a PacedReader.
func (b *Bodies) Read(w http.ResponseWriter, r *http.Request, address string, limit int64, most time.Duration) (*Body, error) {
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	client, competing := address, b.strangers
	if caller := RecordOf(r).Caller; caller != "" {
		client, competing = caller, b.callers
	}
	const grace = 2 * time.Second
	reader := NewPacedReader(w, r.Body, grace, most, most)
	interrupt := func() { _ = reader.control.SetReadDeadline(reader.start) } // as in PacedReader.Read
	part := competing.arrived.Join(client, interrupt)
	reader.take = part.Take
	bytes, err := io.ReadAll(io.LimitReader(reader, limit+1))
	if err == nil && int64(len(bytes)) > limit {
		err = &http.MaxBytesError{Limit: limit}
	}
	if lost := part.Take(0); lost != nil {
		_ = reader.control.SetReadDeadline(time.Now().Add(grace)) // to discard the rest, so that the client sees the response
		return nil, lost
	}
	if err != nil {
		part.Release()
		return nil, err
	}
	return &Body{http.NoBody, client, competing.small, part, bytes}, nil
}

// Open reads a body, waits for up to the same time until the process may decode another one, and
// returns the bytes of this one. Call done when they are decoded. Errors are those of Read.
func (b *Bodies) Open(w http.ResponseWriter, r *http.Request, address string, limit int64, most time.Duration) (
	bytes []byte, done func(), err error,
) {
	body, wasRead := r.Body.(*Body)
	if !wasRead {
		if body, err = b.Read(w, r, address, limit, most); err != nil {
			return nil, nil, err
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), most)
	defer cancel()
	defer body.Close()
	body.part.OnLoss(cancel)
	turns := body.small
	if len(body.bytes) > smallBody {
		turns = b.large
	}
	release, err := turns.Acquire(ctx, body.client, int64(len(body.bytes)))
	if err != nil {
		return nil, nil, budget.ErrFull
	}
	return body.bytes, sync.OnceFunc(release), nil
}

// Sum returns the hex SHA-256 of a text and the body.
func (b *Body) Sum(text string) string {
	sum := sha256.Sum256(append([]byte(text), b.bytes...))
	return hex.EncodeToString(sum[:])
}

// Close releases a body that was not opened.
func (b *Body) Close() error {
	b.part.Release()
	return nil
}

// minRate is how many bytes of a body must arrive per second.
const minRate = 1000

// PacedReader reads a body that arrives fast enough. Otherwise the error is
// os.ErrDeadlineExceeded.
type PacedReader struct {
	Err error // the first error of reading other than io.EOF

	body         io.Reader
	control      *http.ResponseController
	start        time.Time
	grace        time.Duration
	pause, total time.Duration
	received     int64
	take         func(int64) error // counts bytes, and reports whether the body was refused meanwhile
}

// NewPacedReader returns a PacedReader. A body must have the minimum rate since a grace period,
// pause for no longer than pause, and end within total.
func NewPacedReader(w http.ResponseWriter, body io.Reader, grace, pause, total time.Duration) *PacedReader {
	return &PacedReader{
		body: body, control: http.NewResponseController(w), start: time.Now(), grace: grace, pause: pause, total: total,
		take: func(int64) error { return nil },
	}
}

// Read implements io.Reader. At the end of the body, it removes the deadline: if it passed while
// the response is held, the request would be canceled.
func (p *PacedReader) Read(buffer []byte) (n int, err error) {
	paced := p.grace + time.Duration(p.received)*(time.Second/minRate)
	deadline := p.start.Add(min(paced, p.total, time.Since(p.start)+p.pause))
	_ = p.control.SetReadDeadline(deadline) // writers without deadlines return an error, which is of no consequence
	if err = p.take(0); err == nil {        // an interruption after this comes after the deadline was set
		n, err = p.body.Read(buffer)
		p.received += int64(n)
		err = cmp.Or(p.take(int64(n)), err)
	}
	if errors.Is(err, io.EOF) {
		_ = p.control.SetReadDeadline(time.Time{}) // as above
	} else if err != nil {
		p.Err = err
	}
	return n, err
}
