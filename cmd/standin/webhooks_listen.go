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
	"standin/internal/base/retry"
)

// signedHeaders are the request headers that verification needs.
var signedHeaders = [...]string{"webhook-id", "webhook-timestamp", "webhook-signature", "x-service-signature"}

type webhooksVerifyCommand struct {
	secretFlags
	Body       string    `arg:"" optional:"" default:"-" placeholder:"FILE" help:"File with the unmodified request body. Default: standard input."`
	Header     []string  `short:"H" sep:"none" placeholder:"NAME: VALUE" help:"A request header; webhook-id, webhook-timestamp, webhook-signature and x-service-signature are required."`
	HeaderFile string    `type:"existingfile" placeholder:"FILE" help:"File with one header per line."`
	At         time.Time `placeholder:"TIME" help:"When the webhook was received. Default: now. Signatures older than five minutes do not verify."`
}

// Run verifies one webhook.
func (c *webhooksVerifyCommand) Run(to terminal) error {
	secret, err := c.secret()
	if err != nil {
		return err
	}
	lines := c.Header
	if c.HeaderFile != "" {
		content, err := os.ReadFile(c.HeaderFile)
		if err != nil {
			return fmt.Errorf("read the headers: %w", err)
		}
		lines = append(lines, strings.Split(string(content), "\n")...)
	}
	header := make(http.Header)
	for _, text := range lines {
		name, value, found := strings.Cut(strings.TrimSpace(text), ":")
		if found {
			header.Add(textproto.TrimString(name), textproto.TrimString(value))
		}
	}
	for _, name := range signedHeaders {
		if header.Get(name) == "" {
			return fmt.Errorf("the header %s is missing: pass it with --header or --header-file", name)
		}
	}
	body, err := readInput(c.Body, client.MaxWebhookBytes)
	if err != nil {
		return err
	}
	if c.At.IsZero() {
		c.At = time.Now()
	}
	if err := client.VerifyWebhook(header, body, secret, c.At); err != nil {
		return &hint{
			code:  exitNotVerified,
			error: fmt.Errorf("%w: the secret or the body differs, or the webhook was sent more than five minutes earlier", err),
		}
	}
	return to.println("verified", oneLine(header.Get("webhook-id")))
}

type webhooksListenCommand struct {
	secretFlags
	dataFlags
	Team      string        `predictor:"team" help:"Read the webhook secret of this team from the database on this machine. Default: the only team, if no other secret is given."`
	ForwardTo string        `placeholder:"http://localhost:3000/hooks" help:"Send verified webhooks to this URL, and respond as it does."`
	Listen    string        `default:"127.0.0.1:9090" help:"Address and port to listen on; port 0 picks a free one."`
	Status    int           `default:"204" help:"Status code of the response to a verified webhook. Use 500, 410 or 429 to test failures."`
	Delay     time.Duration `default:"0s" help:"Delay before the response."`
	Count     int           `default:"0" help:"Exit after this many webhooks; 0 means never."`
	JSON      bool          `name:"json" help:"Print one JSON object per line."`
}

// receivedWebhook is a received request as printed.
type receivedWebhook struct {
	ReceivedAt time.Time       `json:"receivedAt"`
	Path       string          `json:"path"`
	Verified   bool            `json:"verified"`
	Error      string          `json:"error,omitempty"`
	Status     int             `json:"status"`
	Repeated   bool            `json:"repeated"` // the deliveryId was received before
	Body       json.RawMessage `json:"body,omitempty"`

	webhook client.Webhook
}

// webhookListener receives webhooks and prints them one at a time.
type webhookListener struct {
	webhooksListenCommand
	to     terminal
	secret string
	done   chan struct{} // closed after the last webhook of --count

	mu        sync.Mutex
	seen      map[string]bool // delivery IDs
	remaining int
}

// Run receives webhooks until a signal or until --count is reached.
func (c *webhooksListenCommand) Run(ctx context.Context, to terminal) error {
	if c.Status < 200 || c.Status > 599 {
		return fmt.Errorf("--status is %d, must be between 200 and 599", c.Status)
	}
	secret, err := c.listenSecret(ctx)
	if err != nil {
		return err
	}
	socket, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", c.Listen, err)
	}
	l := &webhookListener{
		webhooksListenCommand: *c, to: to, secret: secret, done: make(chan struct{}), seen: make(map[string]bool), remaining: c.Count,
	}
	server := &http.Server{Handler: l, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(socket) }()
	fmt.Fprintf(to.Err, "listening on http://%s; use this URL as onStatusChange and onFinalize; press Ctrl-C to stop\n", socket.Addr())
	select {
	case err := <-failed:
		return fmt.Errorf("receive webhooks: %w", err)
	case <-ctx.Done():
	case <-l.done:
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = server.Shutdown(closing)
	if ended := <-failed; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// listenSecret returns the given secret, or that of a team in the database of this machine.
func (c *webhooksListenCommand) listenSecret(ctx context.Context) (secret string, err error) {
	if c.Team == "" {
		if secret, err = c.secret(); err == nil || c.SecretFile != "" || c.requireDatabase() != nil {
			return secret, err
		}
	}
	s, err := c.ProvideStore(ctx)
	if err != nil {
		return "", err
	}
	teams, err := s.Consumers(ctx)
	if err := errors.Join(err, c.AfterRun()); err != nil {
		return "", err
	}
	for _, team := range teams {
		if team.Name == c.Team || c.Team == "" && len(teams) == 1 {
			return team.WebhookSecret, nil
		}
	}
	if c.Team == "" {
		return "", fmt.Errorf("no webhook secret: there are %d teams; choose one with --team, or pass --secret-file", len(teams))
	}
	return "", fmt.Errorf("there is no team %q", c.Team)
}

// forward sends a verified webhook to the URL of --forward-to and returns the status of the
// response.
func (l *webhookListener) forward(r *http.Request, body []byte) (int, error) {
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.ForwardTo, bytes.NewReader(body))
	if err != nil {
		return http.StatusBadGateway, err
	}
	for _, name := range append(signedHeaders[:], "Content-Type", "User-Agent") {
		if value := r.Header.Get(name); value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return http.StatusBadGateway, err
	}
	return response.StatusCode, response.Body.Close()
}

// ServeHTTP verifies and prints a request.
func (l *webhookListener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	got := receivedWebhook{ReceivedAt: time.Now().UTC(), Path: r.URL.Path, Status: l.Status}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, client.MaxWebhookBytes))
	if err == nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		got.webhook, err = client.ReceiveWebhook(r, l.secret)
	}
	if got.Verified = err == nil; got.Verified {
		got.Body = body
		if l.ForwardTo != "" {
			if got.Status, err = l.forward(r, body); err != nil {
				got.Error = err.Error()
			}
		}
	} else {
		got.Error, got.Status = err.Error(), http.StatusBadRequest
	}
	_ = retry.Sleep(r.Context(), l.Delay) // without a client the response goes nowhere
	w.WriteHeader(got.Status)
	l.print(got)
}

// print writes a received webhook and counts it.
func (l *webhookListener) print(got receivedWebhook) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if got.Verified {
		got.Repeated = l.seen[got.webhook.DeliveryID]
		l.seen[got.webhook.DeliveryID] = true
	}
	if l.JSON {
		_ = printJSONLine(l.to.Out, got) // an output error has no other destination
	} else {
		fmt.Fprintln(l.to.Out, got.text())
	}
	if l.remaining--; l.remaining == 0 && l.Count > 0 {
		close(l.done)
	}
}

// text formats the webhook as one line of text.
func (h receivedWebhook) text() string {
	at := h.ReceivedAt.Local().Format("15:04:05.000")
	if !h.Verified {
		return fmt.Sprintf("%s  REJECTED  %s, responded %d", at, oneLine(h.Error), h.Status)
	}
	repeated := ""
	if h.Repeated {
		repeated = ", duplicate"
	}
	if h.Error != "" {
		repeated += ", not forwarded: " + h.Error
	}
	return oneLine(fmt.Sprintf("%s  verified  %s  job %s  #%d  attempt %d  %s%s, responded %d", at, h.webhook.Event, h.webhook.Data.JobID,
		h.webhook.Data.Sequence, h.webhook.Attempt, h.webhook.DeliveryID, repeated, h.Status))
}
