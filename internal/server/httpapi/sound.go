package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"github.com/coder/websocket"

	"standin/internal/base/retry"
	"standin/internal/jobs/job"
	"standin/internal/recording/sound"
)

// soundRecheck is how often a listener's job and API key are checked.
const soundRecheck = 5 * time.Second

// ingestSound accepts the connection of a bot for live sound.
func (a *API) ingestSound(r *apiRequest) error {
	bot, err := r.botInPath(nil)
	if err != nil {
		return err
	}
	r.Level = slog.LevelDebug
	if err := a.Jobs.AdmitSound(r.Context(), bot); err != nil {
		return err
	}
	conn, err := r.accept()
	if err != nil {
		return err
	}
	a.untilDrained(r.Context(), func(ctx context.Context) { a.Sound.ServeBot(ctx, conn, bot) })
	return nil
}

// listenToJob sends the live sound of a job to a WebSocket.
func (a *API) listenToJob(r *apiRequest) error {
	j, err := r.job()
	if err != nil {
		return err
	}
	query := struct {
		Audio      job.StreamAudio `json:"audio"`
		SampleRate int             `json:"sampleRate"`
	}{job.StreamMixed, job.DefaultSampleRate}
	if err := r.read(&query); err != nil {
		return err
	}
	if j.Status.Terminal() || j.Status.Teardown() {
		return job.NewError(job.InvalidState, "there is no more sound: the job is "+string(j.Status))
	}
	done, err := a.listeners.TryAcquire(r.caller.ConsumerID.String(), 1)
	if err != nil {
		return err
	}
	defer done()
	node, err := a.Sound.OtherNode(r.Context(), j.ID)
	if err != nil {
		return err
	}
	if node != "" && r.Request.Header.Get(forwardedHeader) == "" {
		return a.forward(r, node)
	}
	conn, err := r.accept()
	if err != nil {
		return err
	}
	a.untilDrained(r.Context(), func(ctx context.Context) {
		subscription := a.Sound.Subscribe(j.ID, sound.WantedBy(query.Audio))
		defer subscription.Close()
		listening, end := context.WithCancelCause(ctx)
		var checking sync.WaitGroup
		checking.Go(func() { end(a.waitForSoundEnd(listening, r)) })
		err := sound.Listen(listening, conn, subscription, sound.Stream{JobID: j.ID, Audio: query.Audio, SampleRate: query.SampleRate})
		end(nil)
		checking.Wait()
		a.Log.Debug("listener disconnected", "job", j.ID, "error", err)
	})
	return nil
}

// forwardedHeader marks a request of another node, which is not forwarded again.
const forwardedHeader = "x-standin-forwarded"

// forward lets another node serve a request.
func (a *API) forward(r *apiRequest, node string) error {
	target, err := url.Parse(node)
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(target)
			request.Out.Header.Set(forwardedHeader, "1")
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			r.fail(fmt.Errorf("reach the node with the sound of a job: %w", err))
		},
		ErrorLog: slog.NewLogLogger(a.Log.Handler(), slog.LevelWarn),
	}
	a.untilDrained(r.Context(), func(ctx context.Context) { proxy.ServeHTTP(r, r.WithContext(ctx)) })
	return nil
}

// waitForSoundEnd waits until the job has ended, another node has its sound, the API key is no longer valid, or ctx
// has ended, and returns which of them.
func (a *API) waitForSoundEnd(ctx context.Context, r *apiRequest) error {
	for {
		if err := retry.Sleep(ctx, soundRecheck); err != nil {
			return err
		}
		token, _ := r.bearer()
		if _, err := a.Keys.Authenticate(ctx, token); job.ErrorIs(err, job.Unauthorized) {
			return err
		}
		j, err := a.Jobs.Job(ctx, r.caller, r.id)
		if node, err := a.Sound.OtherNode(ctx, r.id); err == nil && node != "" {
			return sound.ErrMoved
		}
		if job.ErrorIs(err, job.NotFound) || err == nil && (j.Status.Terminal() || j.Status.Teardown()) {
			return sound.ErrEnded
		}
	}
}

// accept turns a request into a WebSocket. Its error is for the response.
func (r *apiRequest) accept() (*websocket.Conn, error) {
	if r.Request.Header.Get("Sec-WebSocket-Key") == "" || r.ProtoMajor != 1 {
		r.Header().Set("Connection", "Upgrade")
		r.Header().Set("Upgrade", "websocket")
		return nil, &failure{
			status: http.StatusUpgradeRequired, code: "upgrade_required",
			message: "This path is a WebSocket. Connect with HTTP/1.1 and upgrade the connection.",
		}
	}
	// The API key is in a header that no page can set, so that any origin may connect.
	conn, err := websocket.Accept(r, r.Request, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil, http.ErrAbortHandler // Accept has responded
	}
	return conn, nil
}

// untilDrained calls do with a context that ends when the service shuts down. That of the
// request ends when its connection is taken over.
func (a *API) untilDrained(ctx context.Context, do func(context.Context)) {
	a.sockets.Add(1)
	defer a.sockets.Done()
	ctx, stop := a.untilDrain(context.WithoutCancel(ctx))
	defer stop()
	do(ctx)
}
