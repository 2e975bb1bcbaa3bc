package dashboard_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"

	"standin/internal/calendar/mail"
)

// TestMailPage checks that operators see received messages and can process one
// again, and that texts of the sender are escaped.
func TestMailPage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.ada()
	ada := h.signedIn("ada@example.test")
	ada.get("/operator/mail").want(t, "without a worker", http.StatusOK, "Email invitations are not set up")
	w, err := h.OpenMail(t.Context(), mail.Settings{
		Log:    slog.New(slog.DiscardHandler),
		Policy: mail.Policy{Senders: []mail.Sender{{From: "*"}}, Recipients: []string{"notes@bots.example.test"}},
		SMTP:   mail.SMTPSettings{Listen: "127.0.0.1:0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
		w.Close()
	})
	c, err := smtp.Dial(w.SMTPAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	message := strings.NewReader("From: <eve@example.test>\r\nSubject: <script>alert(1)</script>\r\n\r\nHello\r\n")
	if err := c.SendMail("", []string{"notes@bots.example.test"}, message); err != nil {
		t.Fatal(err)
	}
	var body string
	for !strings.Contains(body, "is not authenticated: it has no DKIM signature") {
		body = ada.get("/operator/mail").body
		if ctx.Err() != nil {
			t.Fatal(body)
		}
	}
	if strings.Contains(body, "<script>alert") || !strings.Contains(body, "&lt;script&gt;alert(1)") ||
		!strings.Contains(body, "eve@example.test") ||
		!strings.Contains(body, `<span class="badge bad">refused</span>`) {
		t.Errorf("the page is %s", body)
	}
	_, rest, _ := strings.Cut(body, "/operator/mail/")
	id, _, _ := strings.Cut(rest, "/retry")
	if got := ada.submit("/operator/mail", "/operator/mail/"+id+"/retry", nil); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != "/operator/mail?note=mail-retried" {
		t.Errorf("retry: %d", got.status)
	}
	for _, path := range []string{"/operator/mail/" + uuid.NewString() + "/retry", "/operator/mail/x/retry"} {
		ada.submit("/operator/mail", path, nil).want(t, path, http.StatusNotFound)
	}
	ada.get("/operator/mail?before="+id).want(t, "before the first message", http.StatusOK, "No messages.")
}
