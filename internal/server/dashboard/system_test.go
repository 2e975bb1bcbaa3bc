package dashboard_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
	"standin/internal/recording/storage"
	"standin/internal/store"
)

// TestCausesPage checks that the system page shows operators, and nobody else, why attempts
// failed, with the account and the newest capture, and that it has room for hostile names.
func TestCausesPage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ada := h.ada()
	h.otherUser()
	p := h.signedIn(ada.Email)
	p.get("/operator/system").want(t, "no failures", http.StatusOK, "No attempt of a live job has failed")
	const label = "<b>Recorder</b>\u202e'\""
	account := p.addAccount(label)
	id := p.sendBot(url.Values{"mode": {"live"}, "meetingUrl": {"https://meet.google.com/abc-defg-hij"}, "externalId": {hostile}})
	h.report(id, "lifecycle.joined", map[string]string{})
	h.awaitStatus(ada.ConsumerID, id, job.Joining)
	if err := h.Store().Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.LendAccount(ctx, account, signin.Use{JobID: id, Reason: "invited", At: time.Now()})
	}); err != nil {
		t.Fatal(err)
	}
	recordings, err := storage.Open(t.Context(), (&url.URL{Scheme: "file", Path: filepath.Join(h.dir, "recordings")}).String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer recordings.Close()
	sum := sha256.Sum256([]byte("zip"))
	if _, err := recordings.PutUpload(t.Context(), id, 0, "capture-0.zip", strings.NewReader("zip"), hex.EncodeToString(sum[:]), 100); err != nil {
		t.Fatal(err)
	}
	h.report(id, "lifecycle.exited", map[string]any{"failureCode": "internal_error", "failureDetail": "The page still showed its pre-join screen " +
		"when time was up. Seen: " + hostile + " The bot did not reach the join button within 1m0s. A capture of the page is among the job's files: " +
		"capture-0.zip."})
	h.awaitStatus(ada.ConsumerID, id, job.Failed)
	path := "/jobs/" + id.String() + "/captures/0/capture-0.zip"
	p.get("/operator/system").want(t, "a failure", http.StatusOK, "join button missing", `<a href="`+path+`" download>`,
		"1 of 1", "0 of 0", "1 · 0 · 0 · 0 · 0", "account &lt;b&gt;Recorder&lt;/b&gt;", "code=internal_error&amp;platform=meet")
	if got := p.get("/operator/system").body; strings.Contains(got, "pwned") || strings.Contains(got, "<b>Recorder") {
		t.Error("the page has a hostile text")
	}
	p.get(path).want(t, "the capture", http.StatusOK, "zip")
	h.signedIn("bob@example.test").get("/operator/system").want(t, "another user", http.StatusNotFound)
}
