package dashboard

import (
	"net/http"

	"github.com/google/uuid"

	"standin/internal/account"
)

// What a request needs beside the roles of account.
const (
	public   account.Role = ""
	operator account.Role = "operator" // for others the page does not exist
)

// route registers the handler of every path, for those who may use it: users with the role, or a
// higher one.
func (d *Dashboard) route() {
	const viewer, member, admin = account.Viewer, account.Member, account.Admin
	ofJob, ofCalendar, ofEndpoint, ofDelivery := owned(d.namedJob), owned(d.namedCalendar), owned(d.namedEndpoint), owned(d.namedDelivery)
	for _, r := range []struct {
		needed  account.Role
		pattern string
		handle  handler
	}{
		// The pages for everyone.
		{public, "GET /assets/{name}", d.serveAsset},
		{public, "GET /favicon.ico", func(req *pageRequest) error { // of pages that name no icon
			req.SetPathValue("name", "icon.svg")
			return d.serveAsset(req)
		}},
		{public, "GET /signin", d.signInPage},
		{public, "POST /signin", d.signIn},
		{public, "GET /signin/link", d.throttled(d.signInWithLink)},
		{public, "GET /signin/oidc", d.throttled(d.startOIDC)},
		{public, "GET /signin/oidc/callback", d.throttled(d.finishOIDC)},
		{public, "GET /welcome", d.throttled(d.invitationPage)},
		{public, "POST /welcome", d.throttled(d.acceptInvitation)},
		{public, "GET /docs/session", d.referenceSession},
		{public, "GET /shared", d.sharedPage},
		{public, "GET /shared/media/{name}", d.sharedMedia},
		// The pages of jobs and recordings.
		{viewer, "GET /{$}", d.landing},
		{viewer, "GET /jobs", d.listJobs},
		{viewer, "GET /search", d.searchPage},
		{viewer, "GET /jobs/live", d.liveJobs},
		{member, "GET /jobs/new", d.newJobPage},
		{viewer, "GET /jobs/new/platform", d.detectPlatform},
		{member, "POST /jobs", d.createJob},
		{member, "POST /jobs/bulk", d.changeJobs},
		{viewer, "GET /jobs/{id}", ofJob(d.jobPage)},
		{viewer, "GET /jobs/{id}/live", ofJob(d.liveJob)},
		{viewer, "GET /jobs/{id}/screenshot", ofJob(d.screenshot)},
		{viewer, "GET /jobs/{id}/timeline", ofJob(d.timelinePage)},
		{viewer, "GET /jobs/{id}/deliveries", ofJob(d.deliveriesPage)},
		{viewer, "GET /jobs/{id}/manifest", ofJob(d.manifest)},
		{viewer, "GET /jobs/{id}/transcript", ofJob(d.transcriptFile)},
		{viewer, "GET /jobs/{id}/media/{name}", ofJob(d.media)},
		{viewer, "GET /jobs/{id}/captures/{attempt}/{name}", d.capture},
		{member, "POST /jobs/{id}/deliveries/{delivery}/redeliver", ofJob(d.redeliver)},
		{member, "POST /jobs/{id}/share", ofJob(d.share)},
		{member, "POST /jobs/{id}/share/revoke", ofJob(d.revokeShare)},
		{member, "POST /jobs/{id}/{verb}", ofJob(d.control)},
		// The pages of connected calendars.
		{viewer, "GET /calendars", d.calendarsPage},
		{member, "POST /calendars", d.connectCalendar},
		{member, "POST /calendars/consent", d.askConsent},
		{member, "GET /calendars/callback", d.finishConsent},
		{viewer, "GET /calendars/{id}", ofCalendar(d.calendarPage)},
		{member, "POST /calendars/{id}", ofCalendar(d.changeCalendar)},
		{member, "GET /calendars/{id}/choices", ofCalendar(d.choicesPage)},
		{member, "POST /calendars/{id}/choices", ofCalendar(d.chooseCalendar)},
		{member, "POST /calendars/{id}/sync", ofCalendar(d.syncCalendar)},
		{member, "POST /calendars/{id}/disconnect", ofCalendar(d.disconnectCalendar)},
		{member, "POST /calendars/{id}/events/{event}", ofCalendar(d.switchMeeting)},
		// The pages of webhooks.
		{viewer, "GET /webhooks", d.webhooksPage},
		{admin, "GET /webhooks/new", d.newEndpointPage},
		{admin, "POST /webhooks/endpoints", d.createEndpoint},
		{viewer, "GET /webhooks/endpoints/{id}", ofEndpoint(d.endpointPage)},
		{admin, "POST /webhooks/endpoints/{id}", ofEndpoint(d.changeEndpoint)},
		{admin, "POST /webhooks/endpoints/{id}/{verb}", ofEndpoint(d.endpointAction)},
		{viewer, "GET /webhooks/deliveries", d.deliveryLogPage},
		{viewer, "GET /webhooks/deliveries/{delivery}", ofDelivery(d.deliveryPage)},
		{member, "POST /webhooks/deliveries/{delivery}/replay", ofDelivery(d.replayDelivery)},
		{viewer, "GET /webhooks/events", d.eventsPage},
		{viewer, "GET /webhooks/settings", page(d.showWebhookSettings)},
		{admin, "POST /webhooks/endpoint", d.setEndpoint},
		{admin, "POST /webhooks/test", d.throttled(d.testEndpoint)},
		{admin, "POST /webhooks/secret", d.revealSecret},
		{admin, "POST /webhooks/rotate", d.rotateSecret},
		// The pages of a team and its users.
		{viewer, "POST /signout", d.signOut},
		{viewer, "GET /accounts", page(d.showAccounts)},
		{admin, "POST /accounts", d.addAccount},
		{admin, "POST /accounts/{id}/{verb}", withID("account", d.changeAccount)},
		{admin, "POST /zoom-apps", d.addZoomApp},
		{admin, "POST /zoom-apps/{id}/remove", withID("app", d.removeZoomApp)},
		{viewer, "GET /keys", page(d.showKeys)},
		{admin, "POST /keys", d.createKey},
		{admin, "POST /keys/{id}/revoke", withID("key", d.revokeKey)},
		{viewer, "POST /docs/key", d.createReferenceKey},
		{viewer, "GET /usage", d.usagePage},
		{viewer, "GET /usage.csv", d.usageFile},
		{viewer, "GET /team", page(d.showTeam)},
		{admin, "GET /team/audit", d.auditPage},
		{admin, "POST /team/invite", d.invite},
		{admin, "POST /team/withdraw", d.withdraw},
		{admin, "POST /team/{id}/remove", withID("user", d.removeUser)},
		{admin, "POST /team/{id}/role", withID("user", d.setRole)},
		{viewer, "GET /account", page(d.showAccount)},
		{viewer, "POST /account/password", d.throttled(d.changePassword)},
		{viewer, "GET /cli", d.cliPage},
		{viewer, "POST /cli", d.authorizeCLI},
		// The pages of operators.
		{operator, "GET /operator", d.operatorPage},
		{operator, "GET /operator/live", d.liveOperator},
		{operator, "GET /operator/bots", d.botsPage},
		{operator, "GET /operator/failures", d.failuresPage},
		{operator, "GET /operator/system", d.systemPage},
		{operator, "GET /operator/alerts", page(d.showAlerts)},
		{operator, "POST /operator/alerts/test", d.throttled(d.testAlerts)},
		{operator, "GET /operator/mail", d.mailPage},
		{operator, "POST /operator/mail/{id}/retry", withID("message", d.retryMail)},
	} {
		switch r.needed {
		case public:
		case operator:
			r.handle = d.forUser(viewer, forOperator(r.handle))
		default:
			r.handle = d.forUser(r.needed, r.handle)
		}
		d.mux.Handle(r.pattern, d.adapt(r.handle))
	}
}

// page serves a page as it is before its form was sent.
func page[View any](show func(req *pageRequest, status int, shown View) error) handler {
	return func(req *pageRequest) error { return show(req, http.StatusOK, *new(View)) }
}

// withID serves a page about what the ID in the path names.
func withID(what string, handle func(*pageRequest, uuid.UUID) error) handler {
	return func(req *pageRequest) error {
		id, err := uuid.Parse(req.PathValue("id"))
		if err != nil {
			return notFound("There is no such " + what + ".")
		}
		return handle(req, id)
	}
}

// forOperator serves operators. For others the page does not exist.
func forOperator(handle handler) handler {
	return func(req *pageRequest) error {
		if !req.User.Operator {
			return errNoPage
		}
		return handle(req)
	}
}
