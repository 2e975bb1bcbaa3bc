package sound

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"standin/internal/base/dialguard"
	"standin/internal/base/retry"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/server/live"
)

const (
	dialTimeout = 10 * time.Second
	minPause    = 500 * time.Millisecond // before a stream is connected again
	maxPause    = 30 * time.Second
	// maxChanges limits how many changes of a stream are recorded.
	maxChanges = 100
	// endTimeout is how long streams may take to send the rest when the bot has left.
	endTimeout = 5 * time.Second
	// recordTimeout limits the recording of a change.
	recordTimeout = 10 * time.Second
	// sendBuffer is the size of the kernel's buffer to a receiver.
	sendBuffer = 32 << 10
)

// Jobs reads and changes jobs. It is implemented by lifecycle.Service.
type Jobs interface {
	// StreamsOf returns a job and the secrets that sign the requests to its streams.
	StreamsOf(ctx context.Context, id uuid.UUID) (job.Job, []webhook.Secret, error)
	// RecordStream records a change of a stream.
	RecordStream(ctx context.Context, id uuid.UUID, change job.StreamChange) error
}

// errBotLost is the cause of the end of streams whose bot is no longer connected. They
// are connected again when the bot is.
var errBotLost = errors.New("the connection to the bot was lost")

// runStreams runs the streams of a job, whose bot has sent sound until a time of the recording,
// until its sound ends or ctx ends.
func (s *Service) runStreams(ctx context.Context, id uuid.UUID, startedAt time.Time, until time.Duration) {
	j, _, err := s.Jobs.StreamsOf(ctx, id)
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Error("cannot read the streams of a job", "job", id, "error", err)
		}
		return
	}
	metadata := make(map[string]string)
	var values map[string]any
	_ = json.Unmarshal(j.Metadata, &values) // a JSON object
	for key, value := range values {
		if text, ok := value.(string); ok {
			metadata[key] = text
		}
	}
	var running sync.WaitGroup
	for number, options := range j.Resolved().Streams {
		running.Go(func() {
			stream := &stream{
				service: s, job: id, number: number, options: options.WithDefaults(), startedAt: startedAt, metadata: metadata, until: until,
			}
			stream.run(ctx)
		})
	}
	running.Wait()
}

// stream is a stream of a job to a receiver.
type stream struct {
	service   *Service
	job       uuid.UUID
	number    int
	options   job.StreamOptions
	startedAt time.Time         // of the recording
	metadata  map[string]string // of the job
	until     time.Duration     // end of the sound before the first connection
	changes   int               // that were recorded
}

// run connects to the receiver, again whenever the connection is lost, until the sound
// ends, the receiver has closed the stream, or ctx ends.
func (s *stream) run(ctx context.Context) {
	subscription := s.service.Subscribe(s.job, WantedBy(s.options.Audio))
	defer subscription.Close()
	backoff := retry.Backoff{Min: minPause, Max: maxPause}
	for {
		connectedAt := time.Now()
		err := s.connect(ctx, subscription)
		switch {
		case err == nil, ctx.Err() != nil:
			return
		case errors.Is(err, errStreamFailed):
			s.record(ctx, job.StreamFailed, err.Error())
			return
		case time.Since(connectedAt) > maxPause:
			backoff.Reset()
		}
		s.service.Log.Debug("cannot connect stream", "job", s.job, "stream", s.number, "error", err)
		if retry.Sleep(ctx, backoff.Next()) != nil || subscription.over() {
			s.record(context.WithoutCancel(ctx), job.StreamFailed, "the recording has ended; the last error: "+err.Error())
			return
		}
	}
}

// errStreamFailed means that a stream is not connected again.
var errStreamFailed = errors.New("the stream is closed")

// connect connects to the receiver and sends the sound. It returns nil after the end.
func (s *stream) connect(ctx context.Context, subscription *Subscription) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	format := newFormat(Stream{
		JobID: s.job, Audio: s.options.Audio, SampleRate: s.options.SampleRate, Events: s.options.Events, StartedAt: s.startedAt,
		Metadata: s.metadata,
	}, s.options.Format)
	received := ignore
	if s.options.Send {
		received = (&input{format: format, subscription: subscription, resamplers: make(Resamplers)}).receive
	}
	o := &outlet{
		conn: conn, kind: kindStream, subscription: subscription, format: format, rate: s.options.SampleRate, received: received,
		mixedUntil: s.until,
	}
	s.until = 0
	if len(s.options.Events) > 0 {
		ctx, cancel := context.WithCancel(ctx)
		following, begun := make(chan live.Event), make(chan struct{})
		var running sync.WaitGroup
		running.Go(func() {
			_ = s.service.Live.Follow(ctx, s.job, func() { close(begun) }, func(event live.Event) error { // the sound goes on without
				select {
				case following <- event:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		})
		defer running.Wait()
		defer cancel()
		o.events = following
		select { // so that nothing that happens once the stream is said to be connected is missed
		case <-begun:
		case <-time.After(recordTimeout):
		case <-ctx.Done():
		}
	}
	s.record(ctx, job.StreamConnected, "")
	err = o.run(ctx)
	switch {
	case err == nil:
		return nil
	case websocket.CloseStatus(err) == websocket.StatusNormalClosure:
		return fmt.Errorf("%w by the receiver with the code 1000", errStreamFailed)
	}
	reason := "the connection failed"
	if closed := (websocket.CloseError{}); errors.As(err, &closed) {
		reason = fmt.Sprintf("the receiver closed the connection with the code %d", closed.Code)
	} else if errors.Is(err, websocket.ErrMessageTooBig) {
		reason = fmt.Sprintf("the receiver sent a message of more than %d MiB", maxReceived>>20)
	} else if cause := context.Cause(ctx); cause != nil {
		reason = cause.Error()
	} else if errors.Is(err, context.DeadlineExceeded) {
		reason = "the receiver did not respond in time"
	} else if errors.Is(err, io.EOF) {
		reason = "the receiver closed the connection without a reason"
	}
	s.record(context.WithoutCancel(ctx), job.StreamDisconnected, reason)
	return errors.New(reason)
}

// dial connects to the receiver with a signed request.
func (s *stream) dial(ctx context.Context) (*websocket.Conn, error) {
	_, secrets, err := s.service.Jobs.StreamsOf(ctx, s.job) // they may have been rotated
	if err != nil {
		return nil, errors.New("the service cannot read its database")
	}
	header := http.Header{"User-Agent": {"Standin"}}
	if err := webhook.Sign(header, secrets, "str_"+rand.Text(), time.Now(), nil); err != nil {
		return nil, err
	}
	header.Del(webhook.SignatureHeader) // the signature of an empty body alone is always the same
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		conn := info.Conn
		if secure, ok := conn.(*tls.Conn); ok {
			conn = secure.NetConn()
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(sendBuffer) // what waits in the kernel gets old
		}
	}})
	conn, response, err := websocket.Dial(ctx, s.options.URL, &websocket.DialOptions{ //nolint:bodyclose // Dial has read and closed it
		HTTPClient: s.service.Client, HTTPHeader: header,
	})
	switch {
	case err == nil:
		return conn, nil
	case response == nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("no response within %v", dialTimeout)
	case response == nil && errors.As(err, new(*dialguard.RefusedError)):
		return nil, fmt.Errorf("%w: %s", errStreamFailed, dialguard.Public(err))
	case response == nil:
		for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(err) {
			err = cause
		}
		return nil, errors.New(dialguard.Public(err))
	case response.StatusCode == http.StatusGone:
		return nil, fmt.Errorf("%w: the receiver responded with the status 410", errStreamFailed)
	}
	return nil, fmt.Errorf("the receiver responded with the status %d, not with a WebSocket", response.StatusCode)
}

// record records a change of the stream, unless there were too many.
func (s *stream) record(ctx context.Context, state job.StreamState, reason string) {
	s.service.Hub.metrics.changes.WithLabelValues(string(state)).Inc()
	if s.changes++; s.changes > maxChanges && state != job.StreamFailed {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	err := s.service.Jobs.RecordStream(ctx, s.job, job.StreamChange{Stream: s.number, Host: s.options.Host(), State: state, Reason: reason})
	if err != nil {
		s.service.Log.Error("cannot save the state of a stream", "job", s.job, "error", err)
	}
}

// input passes sound of a receiver to the bot.
type input struct {
	format       format
	subscription *Subscription
	resamplers   Resamplers // by rate
	odd          []byte     // the first byte of a sample, whose second one is in the next message
}

// maxPiece is the most sound that is sent to the bot in one message: 100 ms.
const maxPiece = Rate / 10 * 2

// receive handles a message of a receiver. It ignores what is no sound.
func (i *input) receive(kind websocket.MessageType, data []byte) {
	sound, stop := i.format.receive(kind, data)
	if stop {
		i.odd = nil
		i.subscription.StopPlaying()
	}
	rate := cmp.Or(sound.rate, Rate)
	if len(sound.pcm) == 0 || Rate%rate != 0 && rate != 32_000 || Rate/rate > 6 {
		return
	}
	whole := append(i.odd, sound.pcm...)
	i.odd = slices.Clone(whole[len(whole)/2*2:])
	for pcm := i.resamplers.Get(rate, Upsampler, rate)(whole[:len(whole)/2*2]); len(pcm) > 0; {
		piece := pcm[:min(len(pcm), maxPiece)]
		pcm = pcm[len(piece):]
		i.subscription.Play(piece) // what is too much is lost
	}
}
