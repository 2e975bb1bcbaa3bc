package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/browser"
	"standin/internal/bot/browser/network"
	"standin/internal/bot/capture"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/output"
	"standin/internal/bot/recorder"
	"standin/internal/bot/serviceclient"
	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
)

// opener opens browsers on the meeting's page. It owns everything that several
// browsers of an attempt share.
type opener struct {
	settings Settings
	log      *slog.Logger

	adapter meeting.Adapter
	profile *meeting.Profile
	address meeting.Address
	browser string // path of the executable
	mode    browser.Mode
	egress  *network.Proxy // the browsers' only way out

	client  *serviceclient.Client // lends accounts; nil without a service
	signIn  browser.Account
	account string // label of the borrowed account; empty for a guest

	signInURL string // where a sign-in by SAML starts; empty for other accounts

	sentHome retry.Signal // the page was sent to the platform's home page, which is blocked
}

func newOpener(settings Settings) *opener {
	return &opener{settings: settings, log: settings.Log, signIn: settings.Account, sentHome: retry.NewSignal()}
}

// prepare checks that the meeting may and can be opened.
func (o *opener) prepare(ctx context.Context) *exitResult {
	if o.settings.Platform == job.ZoomSDK {
		if o.settings.ZoomStream == nil {
			return internalError(errors.New("the service gave the bot no media stream of Zoom"))
		}
		return nil
	}
	profiles, err := meeting.Load(o.settings.Profiles)
	if err != nil {
		return internalError(err)
	}
	o.profile = profiles[o.settings.Platform]
	if o.adapter, err = meeting.New(o.settings.Platform, profiles); err != nil {
		return internalError(err)
	}
	if o.address, err = o.adapter.Address(o.settings.MeetingURL); err == nil {
		err = network.CheckHost(o.address.URL, o.settings.AllowedHosts)
	}
	if err != nil {
		return failed(job.MeetingNotFound, err.Error())
	}
	if o.browser, err = browser.Find(o.settings.Browser); err != nil {
		return internalError(err)
	}
	var fallback bool
	if o.mode, fallback = meeting.BrowserMode(browser.Mode(o.settings.BrowserMode), o.settings.Platform); fallback {
		o.log.Warn("the browser is headless, because this machine has no virtual display (Xvfb)", "platform", o.settings.Platform)
	}
	if err := browser.CheckMode(o.mode); err != nil {
		return internalError(err)
	}
	if reason := o.signInAs(ctx, ""); o.account == "" && o.settings.SignIn == job.SignInAlways {
		return failed(job.AuthFailure, cmp.Or(reason, "The service has no account for the bot."))
	}
	// The browsers reach the public internet and the hosts that the operator allows.
	if o.egress, err = network.StartProxy(ctx, network.ProxySettings{
		Allowed: network.AllowedTargets(o.settings.AllowedHosts), OwnHosts: o.settings.OwnHosts, Log: o.log,
	}); err != nil {
		return internalError(err)
	}
	return nil
}

// signInAs borrows an account for the next browser, unless the bot never signs in or has one. It returns
// why there is none, for people; empty for a guest who needs none. refusal says why the page refused the guest.
func (o *opener) signInAs(ctx context.Context, refusal string) (reason string) {
	if o.settings.SignIn == "" || o.settings.SignIn == job.SignInNever || o.account != "" || o.settings.Platform == job.ZoomSDK {
		return ""
	}
	lent, err := o.client.BorrowAccount(ctx, ingest.AccountRequest{Refusal: refusal})
	if err == nil && lent.Account != "" {
		dir := filepath.Join(o.settings.Dir, "account")
		if err = os.RemoveAll(dir); err == nil {
			o.signIn, err = browser.Unpack(lent.State, dir)
		}
	}
	if err != nil {
		o.log.Warn("cannot sign in; the bot is a guest", "error", err)
		return "The bot could not sign in: " + err.Error()
	}
	if lent.Account != "" {
		o.account, o.signInURL = lent.Account, lent.SignInURL
		o.log.Info("signing in", "account", lent.Account, "reason", lent.Reason)
	}
	return lent.Reason
}

// returnAccount returns the borrowed account after the last browser was closed, with what has changed if the
// bot was in the meeting.
func (o *opener) returnAccount(ctx context.Context, admitted bool, last int) {
	if o.account == "" {
		return
	}
	var state signin.State
	if admitted {
		used := browser.Account{Cookies: o.signIn.Cookies}
		if o.signIn.Profile != "" {
			used.Profile = o.profileDir(last)
		}
		var err error
		if state, err = used.Pack(); err != nil {
			o.log.Warn("what the meeting has changed in the account is not kept", "error", err)
			state = signin.State{}
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnTimeout)
	defer cancel()
	if err := o.client.ReturnAccount(ctx, state); err != nil {
		o.log.Warn("cannot return the account; the service takes it back when the job is done", "error", err)
	}
}

// returnTimeout is how long returning an account may take.
const returnTimeout = 15 * time.Second

// profileDir returns the profile of the browser with a number.
func (o *opener) profileDir(number int) string {
	return filepath.Join(o.settings.Dir, fmt.Sprintf("browser-%d", number))
}

// close ends what outlives the browsers.
func (o *opener) close() {
	if o.egress == nil {
		return
	}
	if err := o.egress.Close(); err != nil {
		o.log.Warn("cannot close the egress proxy", "error", err)
	}
}

// open starts a browser with a new profile and opens an empty page in it, with a silent
// microphone and a test picture for platforms that insist on devices. It calls ready and
// then loads the meeting's page.
func (o *opener) open(ctx context.Context, number int, ready func(context.Context) error) (*browser.Browser, *browser.Page, error) {
	profile := o.profileDir(number)
	if err := os.RemoveAll(profile); err != nil {
		return nil, nil, err
	}
	chromium, err := browser.Launch(ctx, browser.Options{
		Executable: o.browser, Mode: o.mode, ProfileDir: profile, LoopbackPeers: o.settings.LoopbackPeers, Log: o.log,
		Proxy: o.egress.Address(), MediaThroughProxy: o.settings.MediaOverTCP, NoSandbox: o.settings.NoSandbox, SeedProfile: o.signIn.Profile,
		Width: o.settings.Recording.Picture.Width, Height: o.settings.Recording.Picture.Height,
	})
	if err != nil {
		return nil, nil, err
	}
	if err = chromium.GrantMicrophoneAndCamera(ctx, network.Origin(o.address.URL)); err == nil {
		err = chromium.SetCookies(ctx, o.signIn.Cookies)
	}
	if errors.As(err, new(*browser.RefusedCookiesError)) {
		// For example because they have expired. The page shows whether they mattered.
		o.log.Warn("the browser refused some cookies", "error", err)
		err = nil
	}
	var page *browser.Page
	if err == nil {
		page, err = chromium.NewPage(ctx)
	}
	if err == nil {
		err = page.GuardNavigation(ctx, o.mayNavigate)
	}
	if err == nil && o.settings.Recording.Output {
		err = output.Prepare(ctx, page)
	}
	if err == nil {
		err = recorder.Prepare(ctx, page, o.settings.recorder())
	}
	if err == nil {
		err = ready(ctx)
	}
	if err == nil && o.signInURL != "" {
		err = o.signInBySAML(ctx, chromium, page)
	}
	if err == nil {
		err = o.load(ctx, page)
	}
	if err != nil {
		return nil, nil, errors.Join(err, chromium.Close())
	}
	return chromium, page, nil
}

// openShown opens a page that the bot shows in the meeting, in a browser context of its
// own, and calls ready before the page is loaded. Like the meeting's page, it reaches the
// internet only through the egress proxy.
func (o *opener) openShown(ctx context.Context, chromium *browser.Browser, address string,
	ready func(context.Context, *browser.Page) error) (*browser.Page, error) {
	page, err := chromium.NewPageApart(ctx)
	if err != nil {
		return nil, err
	}
	if err = page.GuardNavigation(ctx, job.IsWebAddress); err == nil {
		err = output.PrepareMicrophone(ctx, page)
	}
	if err == nil {
		err = ready(ctx, page)
	}
	if err == nil {
		err = page.SetContentSize(ctx, ingest.PictureWidth, ingest.PictureHeight)
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, o.settings.Timeouts.Open)
		defer cancel()
		err = page.Navigate(ctx, address)
	}
	if err != nil {
		page.Close()
		return nil, err
	}
	return page, nil
}

// visit describes a visit for its captures.
func (o *opener) visit(log *capture.Log) capture.Visit {
	return capture.Visit{
		Version: o.settings.Version, Platform: o.settings.Platform, Profile: o.profile, DisplayName: o.settings.DisplayName, Log: log,
	}
}

// mayNavigate reports whether the meeting's page may go to an address.
func (o *opener) mayNavigate(address string) bool {
	allowed := network.NavigationAllowed(address, o.settings.AllowedHosts)
	if parsed, err := url.Parse(address); err == nil && !allowed && meeting.IsHomePage(parsed.Hostname()) {
		o.sentHome.Send()
	}
	return allowed
}

// homeVisits limits how often one browser opens the meeting's page again after it was
// sent to the platform's home page. Google Meet sends only the first visit of a browser
// there, so a new browser would not help.
const homeVisits = 3

// load navigates to the meeting's page.
func (o *opener) load(ctx context.Context, page *browser.Page) error {
	ctx, cancel := context.WithTimeout(ctx, o.settings.Timeouts.Open)
	defer cancel()
	err := visitAgain(func() error { return page.Navigate(ctx, o.address.URL) })
	if errors.Is(err, context.DeadlineExceeded) {
		err = &browser.NavigationError{Reason: fmt.Sprintf("nothing was received within %s", o.settings.Timeouts.Open)}
	}
	return err
}

// visitAgain visits a page until it is not sent to the platform's home page, a few
// times.
func visitAgain(visit func() error) (err error) {
	for range homeVisits {
		err = visit()
		if refused, ok := errors.AsType[*browser.NavigationBlockedError](err); !ok || !meeting.IsHomePage(refused.Host) {
			return err
		}
	}
	return err
}

// join presses the join button of an open page. A page that sends the bot to the
// platform's home page while it joins is opened again.
func (o *opener) join(ctx context.Context, page *browser.Page, options meeting.JoinOptions) error {
	for visits := 1; ; visits++ {
		err := o.joinUnlessSentHome(ctx, page, options)
		if !errors.Is(err, meeting.ErrHomePage) || visits == homeVisits || ctx.Err() != nil {
			return err
		}
		o.log.Info("the page sent the bot to the platform's home page; opening it again")
		if err := o.load(ctx, page); err != nil {
			return err
		}
	}
}

// joinUnlessSentHome is the adapter's Join, which also ends with meeting.ErrHomePage
// when the home page is blocked.
func (o *opener) joinUnlessSentHome(ctx context.Context, page *browser.Page, options meeting.JoinOptions) error {
	select {
	case <-o.sentHome: // of an earlier visit
	default:
	}
	joining, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-o.sentHome:
			cancel(meeting.ErrHomePage)
		case <-joining.Done():
		}
	})
	err := o.adapter.Join(joining, page, options)
	cancel(nil)
	watching.Wait()
	if err != nil && errors.Is(context.Cause(joining), meeting.ErrHomePage) {
		return meeting.ErrHomePage
	}
	return err
}
