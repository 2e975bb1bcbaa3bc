package httpmw

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"standin/internal/budget"
)

// Bounds of Bodies, in bytes.
const (
	callersTotal   = 32 << 20 // arrived and not yet decoded
	strangersTotal = 16 << 20

	// A decoded body takes up to fifty times its size.
	smallBody              = 64 << 10
	smallDecoding          = 512 << 10
	smallDecodingPerClient = 256 << 10
	largeDecoding          = 1 << 20 // the largest body
)

// Bodies bounds the memory of the bodies that this process reads and decodes. A body counts
// as its bytes arrive. Authenticated requests, whose Record has a Caller, do not compete
// with those of strangers. It is safe for concurrent use.
type Bodies struct{ callers, strangers *bodyBudget }

// bodyBudget is what bodies may use: of callers by name, or of strangers by address.
type bodyBudget struct {
	arrived      *budget.Pool
	small, large *budget.Budget // being decoded; small bodies do not wait for large ones
}

// NewBodies returns a Bodies for a process.
func NewBodies() *Bodies {
	newBudget := func(total int64) *bodyBudget {
		return &bodyBudget{
			arrived: budget.NewPool(total),
			small:   budget.New(smallDecoding, smallDecodingPerClient, 0), large: budget.New(largeDecoding, largeDecoding, 0),
		}
	}
	return &Bodies{callers: newBudget(callersTotal), strangers: newBudget(strangersTotal)}
}

// Body is the body of a request, which was read. Only Open gives access to its bytes, so that
// nobody decodes them out of turn. It must be closed or opened. As the Body of the request,
// Read returns it again.
type Body struct {
	budget *bodyBudget
	client string
	part   *budget.Part
	bytes  []byte
}

// Read reads a body of at most limit bytes within a time. An address is the AddressKey of the
// client. The error is a *http.MaxBytesError, budget.ErrFull if the service is too busy, or
// that of a PacedReader.
func (b *Bodies) Read(w http.ResponseWriter, r *http.Request, address string, limit int64, most time.Duration) (*Body, error) {
	if read, ok := r.Body.(*Body); ok {
		return read, nil
	}
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	body := &Body{budget: b.strangers, client: address}
	if caller := RecordOf(r).Caller; caller != "" {
		body.budget, body.client = b.callers, caller
	}
	body.part = body.budget.arrived.Join(body.client)
	const grace = 2 * time.Second
	reader := NewPacedReader(w, r.Body, grace, most, most)
	reader.take = body.part.Take
	body.part.OnLoss(reader.interrupt)
	var err error
	body.bytes, err = io.ReadAll(io.LimitReader(reader, limit+1))
	if err == nil && int64(len(body.bytes)) > limit {
		err = &http.MaxBytesError{Limit: limit}
	}
	if lost := body.part.Take(0); lost != nil {
		_ = reader.control.SetReadDeadline(time.Now().Add(grace)) // to discard the rest, so that the client sees the response
		return nil, lost
	}
	if err != nil {
		body.part.Release()
		return nil, err
	}
	return body, nil
}

// Open waits for up to a time until the process may decode another body, and returns the bytes
// of this one. Call done when they are decoded. The error is budget.ErrFull.
func (b *Body) Open(ctx context.Context, most time.Duration) (body []byte, done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	defer b.part.Release()
	b.part.OnLoss(cancel)
	turns := b.budget.small
	if len(b.bytes) > smallBody {
		turns = b.budget.large
	}
	release, err := turns.Acquire(ctx, b.client, int64(len(b.bytes)))
	if err != nil {
		return nil, nil, budget.ErrFull
	}
	return b.bytes, sync.OnceFunc(release), nil
}

// Sum returns the hex SHA-256 of a text and the body.
func (b *Body) Sum(text string) string {
	sum := sha256.Sum256(append([]byte(text), b.bytes...))
	return hex.EncodeToString(sum[:])
}

// Read implements io.Reader. Nothing is left to be read.
func (b *Body) Read([]byte) (int, error) { return 0, io.EOF }

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
	take         func(int64) error

	mu          sync.Mutex
	interrupted bool
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
func (p *PacedReader) Read(buffer []byte) (int, error) {
	paced := p.grace + time.Duration(p.received)*(time.Second/minRate)
	p.setDeadline(p.start.Add(min(paced, p.total, time.Since(p.start)+p.pause)))
	n, err := p.body.Read(buffer)
	p.received += int64(n)
	if lost := p.take(int64(n)); lost != nil {
		err = lost
	}
	if errors.Is(err, io.EOF) {
		p.setDeadline(time.Time{})
	} else if err != nil {
		p.Err = err
	}
	return n, err
}

func (p *PacedReader) setDeadline(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.interrupted {
		_ = p.control.SetReadDeadline(at) // writers without deadlines return an error, which is of no consequence
	}
}

// interrupt ends a Read that waits, and all later ones.
func (p *PacedReader) interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.interrupted = true
	_ = p.control.SetReadDeadline(p.start) // as setDeadline
}
