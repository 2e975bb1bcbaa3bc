package dashboard

import (
	"net/http"

	"standin/internal/account"
)

// route registers the handler of every path.
func (d *Dashboard) route() {
	d.routePublic()
	d.routeJobs()
	d.routeCalendars()
	d.routeWebhooks()
	d.routeTeam()
	d.routeOperator()
}

// routePublic registers the pages for everyone.
func (d *Dashboard) routePublic() {
	d.public("GET /assets/{name}", d.serveAsset)
	d.public("GET /favicon.ico", func(req *pageRequest) error { // of pages that name no icon
		req.SetPathValue("name", "icon.svg")
		return d.serveAsset(req)
	})
	d.public("GET /signin", d.signInPage)
	d.public("POST /signin", d.signIn)
	d.public("GET /signin/link", d.signInWithLink)
	d.public("GET /signin/oidc", d.startOIDC)
	d.public("GET /signin/oidc/callback", d.finishOIDC)
	d.public("GET /welcome", d.invitationPage)
	d.public("POST /welcome", d.acceptInvitation)
	d.public("GET /docs/session", d.referenceSession)
	d.public("GET /shared", d.sharedPage)
	d.public("GET /shared/media/{name}", d.sharedMedia)
}

// routeJobs registers the pages of jobs and recordings.
func (d *Dashboard) routeJobs() {
	d.viewer("GET /{$}", d.landing)
	d.viewer("GET /jobs", d.listJobs)
	d.viewer("GET /search", d.searchPage)
	d.viewer("GET /jobs/live", d.liveJobs)
	d.member("GET /jobs/new", d.newJobPage)
	d.viewer("GET /jobs/new/platform", d.detectPlatform)
	d.member("POST /jobs", d.createJob)
	d.member("POST /jobs/bulk", d.changeJobs)
	d.viewer("GET /jobs/{id}", withOwned(d.namedJob, d.jobPage))
	d.viewer("GET /jobs/{id}/live", withOwned(d.namedJob, d.liveJob))
	d.viewer("GET /jobs/{id}/screenshot", withOwned(d.namedJob, d.screenshot))
	d.viewer("GET /jobs/{id}/timeline", withOwned(d.namedJob, d.timelinePage))
	d.viewer("GET /jobs/{id}/deliveries", withOwned(d.namedJob, d.deliveriesPage))
	d.viewer("GET /jobs/{id}/manifest", withOwned(d.namedJob, d.manifest))
	d.viewer("GET /jobs/{id}/transcript", withOwned(d.namedJob, d.transcriptFile))
	d.viewer("GET /jobs/{id}/media/{name}", withOwned(d.namedJob, d.media))
	d.viewer("GET /jobs/{id}/captures/{attempt}/{name}", d.capture)
	d.member("POST /jobs/{id}/deliveries/{delivery}/redeliver", withOwned(d.namedJob, d.redeliver))
	d.member("POST /jobs/{id}/share", withOwned(d.namedJob, d.share))
	d.member("POST /jobs/{id}/share/revoke", withOwned(d.namedJob, d.revokeShare))
	d.member("POST /jobs/{id}/{verb}", withOwned(d.namedJob, d.control))
}

// routeCalendars registers the pages of connected calendars.
func (d *Dashboard) routeCalendars() {
	d.viewer("GET /calendars", d.calendarsPage)
	d.member("POST /calendars", d.connectCalendar)
	d.member("POST /calendars/consent", d.askConsent)
	d.member("GET /calendars/callback", d.finishConsent)
	d.viewer("GET /calendars/{id}", withOwned(d.namedCalendar, d.calendarPage))
	d.member("POST /calendars/{id}", withOwned(d.namedCalendar, d.changeCalendar))
	d.member("GET /calendars/{id}/choices", withOwned(d.namedCalendar, d.choicesPage))
	d.member("POST /calendars/{id}/choices", withOwned(d.namedCalendar, d.chooseCalendar))
	d.member("POST /calendars/{id}/sync", withOwned(d.namedCalendar, d.syncCalendar))
	d.member("POST /calendars/{id}/disconnect", withOwned(d.namedCalendar, d.disconnectCalendar))
	d.member("POST /calendars/{id}/events/{event}", withOwned(d.namedCalendar, d.switchMeeting))
}

// routeWebhooks registers the pages of webhooks.
func (d *Dashboard) routeWebhooks() {
	d.viewer("GET /webhooks", d.webhooksPage)
	d.admin("GET /webhooks/new", d.newEndpointPage)
	d.admin("POST /webhooks/endpoints", d.createEndpoint)
	d.viewer("GET /webhooks/endpoints/{id}", withOwned(d.namedEndpoint, d.endpointPage))
	d.admin("POST /webhooks/endpoints/{id}", withOwned(d.namedEndpoint, d.changeEndpoint))
	d.admin("POST /webhooks/endpoints/{id}/{verb}", withOwned(d.namedEndpoint, d.endpointAction))
	d.viewer("GET /webhooks/deliveries", d.deliveryLogPage)
	d.viewer("GET /webhooks/deliveries/{delivery}", withOwned(d.namedDelivery, d.deliveryPage))
	d.member("POST /webhooks/deliveries/{delivery}/replay", withOwned(d.namedDelivery, d.replayDelivery))
	d.viewer("GET /webhooks/events", d.eventsPage)
	d.viewer("GET /webhooks/settings", func(req *pageRequest) error {
		return d.showWebhookSettings(req, http.StatusOK, webhookSettings{})
	})
	d.admin("POST /webhooks/endpoint", d.setEndpoint)
	d.admin("POST /webhooks/test", d.testEndpoint)
	d.admin("POST /webhooks/secret", d.revealSecret)
	d.admin("POST /webhooks/rotate", d.rotateSecret)
}

// routeTeam registers the pages of a team and its users.
func (d *Dashboard) routeTeam() {
	d.viewer("POST /signout", d.signOut)
	d.viewer("GET /keys", d.keysPage)
	d.admin("POST /keys", d.createKey)
	d.admin("POST /keys/{id}/revoke", d.revokeKey)
	d.viewer("POST /docs/key", d.createReferenceKey)
	d.viewer("GET /usage", d.usagePage)
	d.viewer("GET /usage.csv", d.usageFile)
	d.viewer("GET /team", d.teamPage)
	d.admin("GET /team/audit", d.auditPage)
	d.admin("POST /team/invite", d.invite)
	d.admin("POST /team/withdraw", d.withdraw)
	d.admin("POST /team/{id}/remove", d.removeUser)
	d.admin("POST /team/{id}/role", d.setRole)
	d.viewer("GET /account", d.accountPage)
	d.viewer("POST /account/password", d.changePassword)
	d.viewer("GET /cli", d.cliPage)
	d.viewer("POST /cli", d.authorizeCLI)
}

// routeOperator registers the pages of operators.
func (d *Dashboard) routeOperator() {
	d.operator("GET /operator", d.operatorPage)
	d.operator("GET /operator/live", d.liveOperator)
	d.operator("GET /operator/bots", d.botsPage)
	d.operator("GET /operator/failures", d.failuresPage)
	d.operator("GET /operator/system", d.systemPage)
	d.operator("GET /operator/alerts", d.alertsPage)
	d.operator("POST /operator/alerts/test", d.testAlerts)
	d.operator("GET /operator/mail", d.mailPage)
	d.operator("POST /operator/mail/{id}/retry", d.retryMail)
}

// public registers a handler for everyone.
func (d *Dashboard) public(pattern string, handle handler) { d.mux.Handle(pattern, d.adapt(handle)) }

// viewer registers a handler for signed-in users of every role.
func (d *Dashboard) viewer(pattern string, handle handler) {
	d.public(pattern, d.forUser(account.Viewer, handle))
}

// member registers a handler for members and admins.
func (d *Dashboard) member(pattern string, handle handler) {
	d.public(pattern, d.forUser(account.Member, handle))
}

// admin registers a handler for admins.
func (d *Dashboard) admin(pattern string, handle handler) {
	d.public(pattern, d.forUser(account.Admin, handle))
}

// operator registers a handler for operators. For others the page does not exist.
func (d *Dashboard) operator(pattern string, handle handler) {
	d.viewer(pattern, func(req *pageRequest) error {
		if !req.User.Operator {
			return notFound("There is no such page.")
		}
		return handle(req)
	})
}
