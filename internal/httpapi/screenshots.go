package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"image/jpeg"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/httpmw"
	"standin/internal/ingest"
	"standin/internal/job"
)

const (
	// screenshotWait is how long a request waits for the first picture: until the bot has
	// heard that somebody watches it.
	screenshotWait = 10 * time.Second
	// screenshotPoll is how often the database is read meanwhile.
	screenshotPoll = 500 * time.Millisecond
	// maxScreenshotSide bounds the width and the height of a picture, in pixels.
	maxScreenshotSide = 4096
)

// getScreenshot returns the newest picture of a bot's meeting page.
func (a *API) getScreenshot(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	done, ok := a.streams.open(caller.ConsumerID)
	if !ok {
		return rateLimited(liveRefusedWait)
	}
	defer done()
	found, err := a.awaitScreenshot(r.Context(), caller, id)
	if err != nil {
		return err
	}
	w.Header().Set("Last-Modified", found.TakenAt.UTC().Format(http.TimeFormat))
	a.write(w, http.StatusOK, "image/jpeg", found.Image)
	return nil
}

// awaitScreenshot waits for a picture for up to screenshotWait.
func (a *API) awaitScreenshot(ctx context.Context, caller account.Caller, id uuid.UUID) (job.Screenshot, error) {
	poll, end := time.NewTicker(screenshotPoll), time.NewTimer(screenshotWait)
	defer poll.Stop()
	defer end.Stop()
	for {
		found, err := a.settings.Jobs.Screenshot(ctx, caller, id)
		if err != nil || !found.TakenAt.IsZero() {
			return found, err
		}
		select {
		case <-poll.C:
			continue
		case <-end.C:
		case <-a.draining:
		case <-ctx.Done():
		}
		return found, &job.Error{Code: job.InvalidState,
			Message: "the bot sends no picture of its page: it is being started, or nothing may be recorded now"}
	}
}

// ingestScreenshot stores a picture of a bot's meeting page.
func (a *API) ingestScreenshot(w http.ResponseWriter, r *http.Request) error {
	id, attempt, err := a.botInPath(r, nil)
	if err != nil {
		return err
	}
	httpmw.RecordOf(r).Level = slog.LevelDebug
	if r.ContentLength > ingest.MaxScreenshot {
		return tooLarge(ingest.MaxScreenshot)
	}
	image, release, err := a.readBody(w, r)
	if err != nil {
		return err
	}
	defer release()
	if len(image) > ingest.MaxScreenshot {
		return tooLarge(ingest.MaxScreenshot)
	}
	if size, err := jpeg.DecodeConfig(bytes.NewReader(image)); err != nil || size.Width > maxScreenshotSide || size.Height > maxScreenshotSide {
		return invalid(issue("contentMediaType", fmt.Sprintf("must be a JPEG of at most %d pixels in each direction", maxScreenshotSide)))
	}
	if err := a.settings.Bots.SaveScreenshot(r.Context(), id, attempt, image); err != nil {
		return fmt.Errorf("save a picture of a page: %w", err)
	}
	a.writeJSON(w, http.StatusOK, okBody{true})
	return nil
}
