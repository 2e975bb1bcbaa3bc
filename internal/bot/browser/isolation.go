package browser

import (
	"context"
	"errors"
	"fmt"

	"github.com/chromedp/cdproto"
	protocol "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
)

// Isolation of a meeting page from the bot's machine and network. The tests of
// this package try to break each rule; they passed with Chromium 156.
//
//   - TCP: all connections use Options.Proxy, including those to loopback
//     addresses: HTTP, WebSockets, workers, beacons, TURN and ICE over TCP.
//     Chromium does not resolve names for them. Package network resolves and
//     checks the addresses.
//   - UDP of QUIC and WebTransport: disabled by the proxy.
//   - UDP of WebRTC: bypasses the proxy. Chromium's local network access check,
//     enabled for WebRTC too, blocks loopback, private, link-local and carrier NAT
//     addresses of STUN servers, TURN servers and peers. The check runs in the
//     renderer process: it stops scripts, not a compromised renderer. STUN and
//     TURN servers with the address 0.0.0.0 or [::], or with a name that resolves
//     to it, are not blocked: this machine gets the first request, whose content
//     the page cannot choose. The same holds for this machine's public addresses,
//     which no flag of Chromium declares local for WebRTC, and for documentation
//     and benchmarking networks and cloud services at public addresses. Chromium resolves the
//     names of STUN and TURN servers. Options.MediaThroughProxy disables UDP and
//     closes these gaps.
//   - With Options.LoopbackPeers, the check is off for WebRTC because the media of
//     a replica comes from this machine.
//   - Windows: a window that a page opens is closed at once. Until then, its
//     requests use the proxy. Page.GuardNavigation controls the navigation of the
//     page itself.
//   - Downloads are denied, and external programs are not started (see
//     externalprograms.go). Pages cannot open file: and chrome: addresses.
//   - The renderer process runs in Chromium's sandbox, except with
//     Options.NoSandbox.

// addIsolation adds the flags for it.
func addIsolation(flags map[string]any, options Options) {
	flags["no-sandbox"] = !sandboxed(options)
	flags["disable-extensions"] = true
	// Pages that are prerendered, or restored from the back/forward cache,
	// would be shown without a check by GuardNavigation. The suggestions of
	// the address bar are two pages in a renderer process of their own, which
	// starts with the browser.
	flags["disable-features"] = "Prerender2,WebUIOmniboxPopup,WebUIOmniboxAimPopup"
	flags["disable-back-forward-cache"] = true
	if options.Proxy == "" {
		return
	}
	flags["proxy-server"] = "http://" + options.Proxy
	flags["proxy-bypass-list"] = "<-loopback>"
	flags["disable-quic"] = true
	if options.MediaThroughProxy {
		const policy = "disable_non_proxied_udp"
		flags["webrtc-ip-handling-policy"] = policy
		flags["force-webrtc-ip-handling-policy"] = policy // the name in older versions
	}
	if !options.LoopbackPeers {
		// Chromium derives the address space of a document from the address it was
		// loaded from. That is the proxy's loopback address, which would allow the
		// document to access all networks.
		flags["ip-address-space-overrides"] = options.Proxy + "=public"
		flags["enable-features"] = "LocalNetworkAccessChecks,LocalNetworkAccessChecksWebRTC"
	}
}

// closeWindows closes each window that a page opens, until ctx ends. Opening
// cannot be prevented: a target that waits for the debugger blocks its opener.
func (b *Browser) closeWindows(ctx context.Context) {
	created := cdp.Events(ctx, b.session, target.TargetCreated)
	_, err := cdp.Call(ctx, b.session, target.SetDiscoverTargets, target.SetDiscoverTargetsParams{
		Discover: true, Filter: target.Filter{{Type: "page"}},
	})
	if err != nil {
		b.options.Log.Debug("cannot watch for new windows", "error", err) // the browser is gone
	}
	for event, err := range created {
		if err != nil {
			return
		}
		if event.TargetInfo.OpenerID == "" {
			continue
		}
		_, err := cdp.Call(ctx, b.session, target.CloseTarget, target.CloseTargetParams{TargetID: event.TargetInfo.TargetID})
		b.options.Log.Info("closed a window that a page opened", "error", err)
	}
}

// applyIsolation configures a browser context, or with an empty ID the browser's own.
func applyIsolation(ctx context.Context, session cdp.Session, options Options, browserContext cdp.BrowserContextID) error {
	_, err := cdp.Call(ctx, session, protocol.SetDownloadBehavior, protocol.SetDownloadBehaviorParams{
		Behavior: protocol.SetDownloadBehaviorBehaviorDeny, BrowserContextID: browserContext,
	})
	if err != nil {
		return fmt.Errorf("deny downloads: %w", err)
	}
	if options.Proxy == "" || options.LoopbackPeers {
		return nil
	}
	// Otherwise the browser would ask a user, and wait.
	// The permission has other names in other versions of Chromium.
	for _, name := range []string{"local-network-access", "local-network", "loopback-network"} {
		_, err := cdp.Call(ctx, session, protocol.SetPermission, protocol.SetPermissionParams{
			Permission: &protocol.PermissionDescriptor{Name: name},
			Setting:    protocol.PermissionSettingDenied, BrowserContextID: browserContext,
		})
		switch {
		case errors.As(err, new(*cdproto.Error)):
			options.Log.Debug("unknown permission", "name", name)
		case err != nil:
			return fmt.Errorf("deny local network access: %w", err)
		}
	}
	return nil
}
