package recorder

import (
	"context"
	"fmt"

	"standin/internal/bot/browser"
)

// connectedScript tells whether any call of the page or of its own frames has a
// connection that stands. See receivers.js.
const connectedScript = `(() => {
	const stands = view => {
		try {
			for (const known of view[Symbol.for("standin.connections")] || []) {
				const connection = known.deref();
				if (connection && connection.connectionState === "connected") return true;
			}
			return Array.from({length: view.length}, (_, i) => view[i]).some(stands);
		} catch (error) {
			return false; // another site's frame
		}
	};
	return stands(window);
})()`

// Connected reports whether a call is on in a page that was prepared. A page
// that brings sound and picture in some other way has none.
func Connected(ctx context.Context, meeting *browser.Page) (bool, error) {
	var connected bool
	if err := meeting.Eval(ctx, connectedScript, &connected); err != nil {
		return false, fmt.Errorf("looking for the page's connections: %w", err)
	}
	return connected, nil
}
