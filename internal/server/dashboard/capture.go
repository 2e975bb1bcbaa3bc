package dashboard

import (
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// capture sends a capture of a page. Users get those of their own jobs. Operators,
// who repair profiles, get those of all jobs.
func (d *Dashboard) capture(req *pageRequest) error {
	missing := notFound("There is no such capture.")
	id, err := uuid.Parse(req.PathValue("id"))
	if err != nil {
		return missing
	}
	if !req.User.Operator {
		if _, _, err := d.namedJob(req); err != nil {
			return err
		}
	}
	attempt, err := strconv.Atoi(req.PathValue("attempt"))
	if err != nil {
		return missing
	}
	content, size, err := d.Recordings.OpenCapture(req.Context(), id, attempt, req.PathValue("name"))
	if recording.IsNotFound(err) {
		return missing
	}
	if err != nil {
		return err
	}
	defer content.Close() // read only
	header := req.Header()
	header.Set("Content-Type", "application/zip")
	header.Set("Content-Length", strconv.FormatInt(size, 10))
	header.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-%d-%s"`, id.String()[:8], attempt, req.PathValue("name")))
	header.Set("Cache-Control", "private, no-cache")
	req.WriteHeader(http.StatusOK)
	_, _ = io.Copy(&stallWriter{req}, content) // the client may be gone
	return nil
}

// screenshot sends the newest picture of the bot's meeting page.
func (d *Dashboard) screenshot(req *pageRequest, found job.Job, as account.Caller) error {
	newest, err := d.Jobs.Screenshot(req.Context(), as, found.ID)
	if err != nil {
		return err
	}
	if newest.TakenAt.IsZero() {
		return notFound("There is no picture of the page.")
	}
	return req.write("image/jpeg", newest.Image)
}
