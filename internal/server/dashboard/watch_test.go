package dashboard_test

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
	"standin/internal/bot/session"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/replica"
	"standin/internal/testing/testbrowser"
)

// TestWatch watches the life of a bot on the page of its job: in the lobby, in the meeting
// with a picture, people, captions and chat, and after the end.
func TestWatch(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	testbrowser.Full(t)
	testbrowser.Reserve(t)
	media, err := replica.PrepareSmallMedia(t.Context(), replica.MediaFolder())
	if err != nil {
		t.Fatal(err)
	}
	server, err := replica.Start(context.WithoutCancel(t.Context()), replica.Options{Media: media})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	meeting, err := server.Open(replica.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t)
	ada := h.ada()
	id := h.signedIn(ada.Email).sendBot(url.Values{
		"mode": {"live"}, "meetingUrl": {"https://meet.google.com/abc-defg-hij"}, "title": {"Weekly sync"}, "captions": {"on"}, "chat": {"on"},
	})
	page := openTab(t)
	page.signIn(h, ada.Email)
	page.Open(h.BaseURL() + "/jobs/" + id.String())
	h.awaitStatus(ada.ConsumerID, id, job.Dispatching)
	ended := make(chan error, 1)
	go func() {
		ended <- session.Run(t.Context(), session.Settings{
			BotConfig: launch.BotConfig{
				Assignment: launch.Assignment{
					JobID: id, Token: ingest.Token([]byte("key"), id.String(), 0), ServiceURL: h.BaseURL(), MeetingURL: meeting.URL(), Platform: job.Meet,
					DisplayName: "Standin", AutoLeave: job.DefaultAutoLeave(), AllowedHosts: []string{strings.TrimPrefix(server.URL(),
						"http://")}, LoopbackPeers: true,
				},
				BotSettings: launch.BotSettings{BrowserMode: string(browser.Headless), Recording: launch.Recording{
					Layout: job.LayoutPage, Picture: launch.PictureSize{Width: 640, Height: 360}, FrameRate: 5, VideoBitRate: 300_000,
					Chat: launch.TextsOn, Captions: launch.TextsOn, CaptionsLanguage: "en-US",
				}},
				Dir: t.TempDir(),
			},
			Version: "test", Log: slog.New(slog.DiscardHandler),
		})
	}()
	shown := `document.querySelector("#picture img")?.naturalWidth > 0`

	page.AwaitText("The bot is waiting in the lobby")
	page.Until(shown)

	meeting.Admit()
	page.AwaitText("The bot is recording")
	page.AwaitText("In the meeting for")
	page.Until(`[...document.querySelectorAll("#people .name")].length === 2`)
	page.Until(`document.querySelector("#people .speaking") !== null`)
	speaker := testbrowser.Eval[string](page.Tab, `document.querySelector("#people .speaking .name").textContent`)
	if _, err := meeting.AddCaption(speaker, "Let us begin with the budget."); err != nil {
		t.Fatal(err)
	}
	page.AwaitText("Let us begin with the budget.")
	if err := meeting.Say(speaker, "The sheet is in the invitation."); err != nil {
		t.Fatal(err)
	}
	page.AwaitText("The sheet is in the invitation.")
	page.Until(shown)
	page.Fill("#chat-text", "Thank you for having me")
	page.ClickText("Send")
	page.AwaitText("The bot will send your message.")
	sent := func(event replica.Event) bool {
		return event.Kind == replica.EventChat && event.Text == "Thank you for having me"
	}
	if _, err := meeting.WaitFor(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	page.Click(`#people button`)
	page.AwaitText("will be pinned")
	if _, err := meeting.Wait(t.Context(), replica.EventPinned); err != nil {
		t.Fatal(err)
	}
	page.ClickText("Pause recording")
	page.AwaitText("captions and chat are not kept")
	page.AwaitText("No picture is taken while the recording is paused.")
	page.ClickText("Resume recording")
	page.AwaitText("The bot is recording")

	meeting.End()
	page.Until(`document.querySelector("video").readyState >= 1 && document.getElementById("picture").hidden`)
	page.AwaitText("Let us begin with the budget.")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	page.Open(h.BaseURL() + "/jobs/" + id.String() + "?t=2")
	page.Until(`Math.abs(document.querySelector("video").currentTime - 2) < 0.5`)
	page.AwaitText("The host ended the meeting")
}
