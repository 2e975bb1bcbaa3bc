package browser

import (
	"context"
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
)

// Pages try to start a platform's own program with addresses such as zoommtg: and
// msteams:. Chromium then opens a dialog of its own, and the page receives no mouse
// and key events until somebody answers it. Three measures prevent that:
//
//   - writePreferences blocks the addresses in every frame, of any site and at any time.
//     If the main frame is blocked, an error page replaces the document.
//   - blockExternalScript cancels navigations before they start, so that the
//     document of the main frame stays.
//   - blockExternalRedirects does the same for redirects, which scripts cannot
//     observe. Without it, Chromium 156 crashes when the preferences block the
//     redirect of a frame.

// blockExternalScript cancels navigations to addresses of external programs.
const blockExternalScript = `if (window.navigation) window.navigation.addEventListener("navigate", event => {
	if (event.cancelable && !/^(https?|about|blob|data|javascript):/i.test(event.destination.url)) event.preventDefault();
});`

// pauseDocuments returns the parameters that pause the requests of documents, or their responses.
func pauseDocuments(stage fetch.RequestStage) fetch.EnableParams {
	return fetch.EnableParams{
		Patterns: []*fetch.RequestPattern{{URLPattern: "*", ResourceType: network.ResourceTypeDocument, RequestStage: stage}},
	}
}

// blockExternalRedirects fails redirects to external programs and continues all other
// responses, until the browser ends.
func (b *Browser) blockExternalRedirects(ctx context.Context, responses iter.Seq2[fetch.EventRequestPaused, error]) {
	for response, err := range responses {
		if err != nil {
			return
		}
		if slices.ContainsFunc(response.ResponseHeaders, func(header *fetch.HeaderEntry) bool {
			if !strings.EqualFold(header.Name, "Location") {
				return false
			}
			address, err := url.Parse(header.Value)
			return err == nil && address.Scheme != "" &&
				!slices.Contains([]string{"http", "https", "about", "blob", "data"}, strings.ToLower(address.Scheme))
		}) {
			b.options.Log.Info("blocked a redirect to an external program")
			_, err = cdp.Call(ctx, b.session, fetch.FailRequest, fetch.FailRequestParams{
				RequestID: response.RequestID, ErrorReason: network.ErrorReasonAborted,
			})
		} else {
			_, err = cdp.Call(ctx, b.session, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: response.RequestID})
		}
		if err != nil {
			b.options.Log.Debug("paused response is gone", "error", err)
		}
	}
}
