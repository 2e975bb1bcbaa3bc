package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"strings"
	"sync"
	"time"

	"standin/client"
)

// exitNotVerified is the exit code for a webhook whose signatures do not verify,
// as against a command that failed.
const exitNotVerified = 3

// signedHeaders are those that a verification reads.
var signedHeaders = [...]string{"webhook-id", "webhook-timestamp", "webhook-signature", "x-service-signature"}

type webhooksVerifyCommand struct {
	secretFlags
	Body       string    `arg:"" optional:"" default:"-" placeholder:"FILE" help:"File with the body, byte for byte. Default: standard input."`
	Header     []string  `short:"H" sep:"none" placeholder:"NAME: VALUE" help:"A header of the request; webhook-id, webhook-timestamp, webhook-signature and x-service-signature are needed."`
	HeaderFile string    `type:"existingfile" placeholder:"FILE" help:"File with the headers, one a line."`
	At         time.Time `placeholder:"2026-11-20T14:00:00Z" help:"When it was received. Default: now; older than five minutes is refused."`
}

// Run verifies.
func (c *webhooksVerifyCommand) Run(to terminal) error {
	secret, err := c.secret()
	if err != nil {
		return err
	}
	header, err := c.headers()
	if err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	at := c.At
	if at.IsZero() {
		at = time.Now()
	}
	if err := client.VerifyWebhook(header, body, secret, at); err != nil {
		return &exitError{code: exitNotVerified, text: err.Error() + ": another secret, another body, or sent more than five minutes from then"}
	}
	_, err = fmt.Fprintln(to.out, "verified", oneLine(header.Get("webhook-id")))
	return err
}

// body reads the body, which must not be changed by a byte.
func (c *webhooksVerifyCommand) body() ([]byte, error) {
	from := io.Reader(os.Stdin)
	if c.Body != "-" {
		file, err := os.Open(c.Body)
		if err != nil {
			return nil, fmt.Errorf("open the body: %w", err)
		}
		defer file.Close()
		from = file
	}
	body, err := io.ReadAll(io.LimitReader(from, client.MaxWebhookBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	if len(body) > client.MaxWebhookBytes {
		return nil, errors.New("the body is longer than any webhook")
	}
	return body, nil
}

// headers reads the headers of flags and file.
func (c *webhooksVerifyCommand) headers() (http.Header, error) {
	lines := c.Header
	if c.HeaderFile != "" {
		content, err := os.ReadFile(c.HeaderFile)
		if err != nil {
			return nil, fmt.Errorf("read the headers: %w", err)
		}
		lines = append(lines, strings.Split(string(content), "\n")...)
	}
	header := make(http.Header)
	for _, line := range lines {
		name, value, found := strings.Cut(strings.TrimSpace(line), ":")
		if found {
			header.Add(textproto.TrimString(name), textproto.TrimString(value))
		}
	}
	for _, name := range signedHeaders {
		if header.Get(name) == "" {
			return nil, fmt.Errorf("the header %s is missing: give it with --header or --header-file", name)
		}
	}
	return header, nil
}

type webhooksListenCommand struct {
	secretFlags
	Listen string        `default:"127.0.0.1:9090" help:"Address and port to listen on; port 0 picks a free one."`
	Answer int           `default:"204" help:"Status to answer what verifies with, to try failures out: 500, 410, 429 …"`
	Delay  time.Duration `default:"0s" help:"How long to wait before answering."`
	Count  int           `default:"0" help:"End after so many webhooks; 0 is never."`
	JSON   bool          `name:"json" help:"Print a JSON object a line, for programs."`
}

// heard is a request that came in, as it is printed.
type heard struct {
	ReceivedAt time.Time       `json:"receivedAt"`
	Path       string          `json:"path"`
	Verified   bool            `json:"verified"`
	Error      string          `json:"error,omitempty"`
	Answered   int             `json:"answered"`
	Repeated   bool            `json:"repeated"` // its deliveryId came before
	Body       json.RawMessage `json:"body,omitempty"`

	hook client.Webhook
}

// listener receives webhooks, one after the other is printed.
type listener struct {
	webhooksListenCommand
	to     terminal
	secret string
	enough chan struct{}

	mu   sync.Mutex
	seen map[string]bool
	left int
}

// Run receives until a signal, or until enough have come.
func (c *webhooksListenCommand) Run(ctx context.Context, to terminal) error {
	if c.Answer < 200 || c.Answer > 599 {
		return fmt.Errorf("%d is no status to answer with: 200 to 599 are", c.Answer)
	}
	secret, err := c.secret()
	if err != nil {
		return err
	}
	socket, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", c.Listen, err)
	}
	l := &listener{webhooksListenCommand: *c, to: to, secret: secret, enough: make(chan struct{}), seen: make(map[string]bool), left: c.Count}
	server := &http.Server{Handler: l, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(socket) }()
	fmt.Fprintf(to.err, "listening on http://%s; use it as onStatusChange and onFinalize, and end with Ctrl-C\n", socket.Addr())
	select {
	case err := <-failed:
		return fmt.Errorf("receive webhooks: %w", err)
	case <-ctx.Done():
	case <-l.enough:
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = server.Shutdown(closing)
	if ended := <-failed; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// ServeHTTP takes a request.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	got := heard{ReceivedAt: time.Now().UTC(), Path: r.URL.Path, Answered: l.Answer}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, client.MaxWebhookBytes))
	if err == nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		got.hook, err = client.ReceiveWebhook(r, l.secret)
	}
	if got.Verified = err == nil; got.Verified {
		got.Body = body
	} else {
		got.Error, got.Answered = err.Error(), http.StatusBadRequest
	}
	select {
	case <-time.After(l.Delay):
	case <-r.Context().Done():
	}
	w.WriteHeader(got.Answered)
	l.print(got)
}

// print writes what came in, and counts.
func (l *listener) print(got heard) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if got.Verified {
		got.Repeated = l.seen[got.hook.DeliveryID]
		l.seen[got.hook.DeliveryID] = true
	}
	if l.JSON {
		encoder := json.NewEncoder(l.to.out)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(got) // nobody is left to tell
	} else {
		fmt.Fprintln(l.to.out, got.line())
	}
	if l.left--; l.left == 0 && l.Count > 0 {
		close(l.enough)
	}
}

// line is what came in, for people.
func (h heard) line() string {
	at := h.ReceivedAt.Local().Format("15:04:05.000")
	if !h.Verified {
		return fmt.Sprintf("%s  REFUSED  %s, answered %d", at, oneLine(h.Error), h.Answered)
	}
	again := ""
	if h.Repeated {
		again = ", seen before"
	}
	return oneLine(fmt.Sprintf("%s  verified  %s  job %s  #%d  try %d  %s%s, answered %d", at, h.hook.Event, h.hook.Data.JobID,
		h.hook.Data.Sequence, h.hook.Attempt, h.hook.DeliveryID, again, h.Answered))
}
