package recorder

import (
	"context"
	"fmt"

	"standin/internal/bot/browser"
)

// connectedScript returns whether a peer connection of the page or its same-origin
// frames is connected. See receivers.js.
const connectedScript = `(() => {
	const connected = view => {
		try {
			for (const reference of view[Symbol.for("standin.connections")] || []) {
				const connection = reference.deref();
				if (connection && connection.connectionState === "connected") return true;
			}
			return Array.from({length: view.length}, (_, i) => view[i]).some(connected);
		} catch (error) {
			return false; // a cross-origin frame
		}
	};
	return connected(window);
})()`

// Connected reports whether a prepared page has a connected peer connection. Pages
// that transport audio and video in another way have none.
func Connected(ctx context.Context, meeting *browser.Page) (bool, error) {
	var connected bool
	if err := meeting.Eval(ctx, connectedScript, &connected); err != nil {
		return false, fmt.Errorf("check the page's connections: %w", err)
	}
	return connected, nil
}
