package dashboard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
)

// ShareSettings allow links that show a recording to people who are not signed in.
type ShareSettings struct {
	Lifetime time.Duration // of a link; 0 allows none
	Key      []byte        // signs the links
}

// shareView is the data of the page with a new link.
type shareView struct {
	Job   job.Job
	Link  string
	Until time.Time
}

// share creates a link to a recording.
func (d *Dashboard) share(req *pageRequest, session account.Session) error {
	found, _, err := d.namedJob(req, session)
	if err != nil {
		return err
	}
	if d.settings.Share.Lifetime <= 0 {
		return notFound("The operator of the service allows no links to recordings.")
	}
	if _, err := d.manifestOf(req.r.Context(), found); err != nil {
		return err
	}
	until := d.settings.Now().Add(d.settings.Share.Lifetime)
	link := d.settings.BaseURL + "/shared?token=" + url.QueryEscape(d.shareToken(found, until))
	return req.show("share", "Share", shareView{Job: found, Link: link, Until: until})
}

// shareSize is the size of what a token names: a job, its team, and a Unix time.
const shareSize = 16 + 16 + 8

// shareToken returns the token of a link to the recording of a job.
func (d *Dashboard) shareToken(j job.Job, until time.Time) string {
	named := binary.BigEndian.AppendUint64(append(j.ID[:], j.ConsumerID[:]...), uint64(until.Unix()))
	return base64.RawURLEncoding.EncodeToString(append(named, d.shareMAC(named)...))
}

func (d *Dashboard) shareMAC(named []byte) []byte {
	mac := hmac.New(sha256.New, d.settings.Share.Key)
	mac.Write(named)
	return mac.Sum(nil)
}

// sharedJob returns the job of the link in the query.
func (d *Dashboard) sharedJob(req *pageRequest) (job.Job, error) {
	token, err := base64.RawURLEncoding.DecodeString(req.r.URL.Query().Get("token"))
	if err != nil || len(token) != shareSize+sha256.Size || !hmac.Equal(token[shareSize:], d.shareMAC(token[:shareSize])) {
		return job.Job{}, notFound("There is no such link.")
	}
	until := time.Unix(int64(binary.BigEndian.Uint64(token[32:shareSize])), 0) // #nosec G115 -- shareToken has encoded it
	if d.settings.Share.Lifetime <= 0 || d.settings.Now().After(until) {
		return job.Job{}, &pageError{http.StatusGone, "This link has expired. Ask for a new one."}
	}
	team := account.Session{User: account.User{ConsumerID: uuid.UUID(token[16:32])}}
	found, _, err := d.findJob(req, team, uuid.UUID(token[:16]).String())
	return found, err
}

// sharedView is the data of the page of a shared recording.
type sharedView struct {
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
	shown, err := d.recordingAt(req.r.Context(), found, "/shared", "?token="+url.QueryEscape(req.r.URL.Query().Get("token")))
	if err != nil {
		return err
	}
	if shown == nil {
		return notFound("The recording was deleted.")
	}
	req.Header().Set("X-Robots-Tag", "noindex")
	return req.show("shared", jobTitle(found), sharedView{found, shown})
}

// sharedMedia sends a file of a shared recording.
func (d *Dashboard) sharedMedia(req *pageRequest) error {
	found, err := d.sharedJob(req)
	if err != nil {
		return err
	}
	return d.serveMedia(req, found)
}
