package browser

import (
	"context"
	"errors"
	"fmt"

	"github.com/chromedp/cdproto"
	protocol "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// What keeps a meeting page from the bot's own machine and network, and how far
// each wall reaches. The tests of this package, in which a page tries, saw each
// line hold in Chromium 156.
//
//   - TCP: all of it goes through Options.Proxy, with loopback no exception:
//     HTTP, WebSockets, workers, beacons, TURN and ICE over TCP. Chromium
//     resolves no name for them; package egress does, and judges the address.
//   - UDP of QUIC and WebTransport: there is none beside a proxy.
//   - UDP of WebRTC passes no proxy. Chromium's own check of local network
//     access, which is switched on here for WebRTC too, keeps it from loopback,
//     private, link-local and carrier NAT addresses, be they STUN or TURN servers,
//     by name or number, or candidates of a peer. The check is made in the page's
//     process: a wall against every script, not against a page that has taken
//     over that process. It has a gap: a STUN or TURN server given as 0.0.0.0 or
//     [::], or by a name that means one of them, is this machine, and gets the
//     first request, whose content the page does not choose. It knows no
//     documentation and benchmarking networks, nor those services of a cloud that
//     have public numbers. Options.MediaThroughProxy leaves no UDP at all, and
//     none of these gaps. Names of STUN and TURN servers are resolved by Chromium.
//   - A browser with LoopbackPeers is without the check of WebRTC: its meeting's
//     media comes from this machine.
//   - Windows that a page opens are closed at once. What they ask for until then
//     goes through the proxy too. Where a page itself may navigate to is decided
//     by Page.GuardNavigation.
//   - Downloads are refused. Programs for addresses such as zoommtg: are never
//     started. Pages cannot open file: and chrome: addresses.
//   - The page's process is in Chromium's sandbox, unless that is off: see
//     Options.NoSandbox.

// isolationFlags are the part of it that is decided at the start.
func isolationFlags(options Options) []chromedp.ExecAllocatorOption {
	flags := []chromedp.ExecAllocatorOption{
		chromedp.Flag("no-sandbox", !sandboxed(options)),
		chromedp.Flag("disable-extensions", true),
		// A page that is prepared in advance, or kept for the way back, would
		// come up without its navigation having been asked for.
		chromedp.Flag("disable-features", "Prerender2"),
		chromedp.Flag("disable-back-forward-cache", true),
	}
	if options.Proxy == "" {
		return flags
	}
	flags = append(flags,
		chromedp.Flag("proxy-server", "http://"+options.Proxy),
		chromedp.Flag("proxy-bypass-list", "<-loopback>"),
		chromedp.Flag("disable-quic", true),
	)
	if options.MediaThroughProxy {
		const policy = "disable_non_proxied_udp"
		flags = append(flags,
			chromedp.Flag("webrtc-ip-handling-policy", policy),
			chromedp.Flag("force-webrtc-ip-handling-policy", policy), // its name in older versions
		)
	}
	if options.LoopbackPeers {
		return flags
	}
	// Chromium takes a document for as public as the address it came from, and
	// that is the proxy's: on the loopback interface. It would let such a
	// document reach everything.
	return append(flags,
		chromedp.Flag("ip-address-space-overrides", options.Proxy+"=public"),
		chromedp.Flag("enable-features", "LocalNetworkAccessChecks,LocalNetworkAccessChecksWebRTC"),
	)
}

// closeWindows closes, until ctx ends, each window that a page opens. It cannot
// be kept from opening: a page that waits for a debugger's leave stands still.
func (b *Browser) closeWindows(ctx context.Context) {
	created := cdp.Events(ctx, b.session, target.TargetCreated)
	_, err := cdp.Call(ctx, b.session, target.SetDiscoverTargets, target.SetDiscoverTargetsParams{
		Discover: true, Filter: target.Filter{{Type: "page"}},
	})
	if err != nil {
		b.options.Log.Debug("windows are not watched", "error", err) // the browser is gone
	}
	for event, err := range created {
		if err != nil {
			return
		}
		if event.TargetInfo.OpenerID == "" {
			continue
		}
		_, err := cdp.Call(ctx, b.session, target.CloseTarget, target.CloseTargetParams{TargetID: event.TargetInfo.TargetID})
		b.options.Log.Info("a page opened a window, which is closed", "error", err)
	}
}

// localNetworkPermissions are the names under which versions of Chromium ask
// whether a page may reach the local network.
func localNetworkPermissions() []string {
	return []string{"local-network-access", "local-network", "loopback-network"}
}

// isolate is the part of it that a running browser is told.
func isolate(ctx context.Context, session cdp.Session, options Options) error {
	_, err := cdp.Call(ctx, session, protocol.SetDownloadBehavior, protocol.SetDownloadBehaviorParams{
		Behavior: protocol.SetDownloadBehaviorBehaviorDeny,
	})
	if err != nil {
		return fmt.Errorf("refusing downloads: %w", err)
	}
	if options.Proxy == "" || options.LoopbackPeers {
		return nil
	}
	// Without an answer the browser would ask a user, and wait.
	for _, name := range localNetworkPermissions() {
		_, err := cdp.Call(ctx, session, protocol.SetPermission, protocol.SetPermissionParams{
			Permission: &protocol.PermissionDescriptor{Name: name},
			Setting:    protocol.PermissionSettingDenied,
		})
		var unknown *cdproto.Error
		switch {
		case errors.As(err, &unknown):
			options.Log.Debug("this browser has no such permission", "name", name)
		case err != nil:
			return fmt.Errorf("denying the local network: %w", err)
		}
	}
	return nil
}
