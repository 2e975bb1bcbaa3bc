package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
)

// shownLinks is how many links a job's page lists.
const shownLinks = 100

// shareView is the data of the page with a new link.
type shareView struct {
	Job   job.Job
	Link  string
	Until time.Time
}

// share creates a link to a recording and shows it in the response, and nowhere else.
func (d *Dashboard) share(req *pageRequest, found job.Job, _ account.Caller) error {
	if d.ShareLifetime <= 0 {
		return notFound("The operator of the service allows no links to recordings.")
	}
	if _, err := d.manifestOf(req.Context(), found); err != nil {
		return err
	}
	token, now := account.NewToken(), d.Now()
	link := job.ShareLink{
		Hash: account.Hash(token), JobID: found.ID, CreatedAt: now, CreatedBy: req.User.Email,
		ExpiresAt: now.Add(d.ShareLifetime),
	}
	err := d.Jobs.Store.InsertShareLink(req.Context(), link)
	address := d.BaseURL + "/shared?token=" + url.QueryEscape(token)
	return req.showAfter(err, "share", "Share", shareView{Job: found, Link: address, Until: link.ExpiresAt})
}

// revokeShare ends a link to a recording.
func (d *Dashboard) revokeShare(req *pageRequest, found job.Job, _ account.Caller) error {
	return req.redirectAfter(d.Jobs.Store.DeleteShareLink(req.Context(), found.ID, req.PostForm.Get("link")),
		"/jobs/"+found.ID.String()+"?note=link-revoked")
}

// sharedJob returns the job of the link in the query.
func (d *Dashboard) sharedJob(req *pageRequest) (job.Job, error) {
	link, err := d.Jobs.Store.ShareLink(req.Context(), account.Hash(req.URL.Query().Get("token")))
	if job.ErrorIs(err, job.NotFound) {
		return job.Job{}, notFound("There is no such link. It may have been revoked.")
	}
	if err != nil {
		return job.Job{}, err
	}
	if d.ShareLifetime <= 0 || !d.Now().Before(link.ExpiresAt) {
		return job.Job{}, &pageError{http.StatusGone, "This link has expired. Ask for a new one."}
	}
	return d.Jobs.Store.JobView(req.Context(), link.JobID)
}

// sharedView is the data of the page of a shared recording.
type sharedView struct {
	Title     string // whoever has the link reads no other name of the job
	Job       job.Job
	Recording *recordingView
}

// sharedPage shows a recording to somebody with a link.
func (d *Dashboard) sharedPage(req *pageRequest) error {
	found, err := d.sharedJob(req)
	if err != nil {
		return err
	}
	release, err := req.costlyRead(found.ConsumerID)
	if err != nil {
		return err
	}
	defer release()
	shown, err := d.recordingAt(req.Context(), found, "/shared", "?token="+url.QueryEscape(req.URL.Query().Get("token")))
	if err != nil {
		return err
	}
	if shown == nil {
		return notFound("The recording was deleted.")
	}
	req.Header().Set("X-Robots-Tag", "noindex")
	title := cmp.Or(job.Clip(strings.TrimSpace(found.Title()), maxTitle), "Recording")
	return req.show("shared", title, sharedView{title, found, shown})
}

// sharedMedia sends a file of a shared recording.
func (d *Dashboard) sharedMedia(req *pageRequest) error {
	found, err := d.sharedJob(req)
	if err != nil {
		return err
	}
	return d.media(req, found, account.Caller{})
}
