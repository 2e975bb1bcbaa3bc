package httpapi

import (
	"standin/internal/account"
	"standin/internal/bot/ingest"
)

// handlers returns the handler of each operation, by operation ID.
func (a *API) handlers() map[string]handler {
	documents := perMinute(600)
	all := map[string]handler{
		// What bots send and read.
		"ingestEvent":      a.ingestEvent,
		"ingestTexts":      message(a.Jobs.IngestTexts),
		"heartbeat":        a.heartbeat,
		"ingestSound":      a.ingestSound,
		"ingestScreenshot": a.ingestScreenshot,
		"uploadMedia":      a.uploadMedia,
		"signUpload":       a.signUpload,
		"readOutput":       a.readOutput,
		"borrowAccount":    message(a.Jobs.LendAccount),
		"returnAccount":    a.returnAccount,

		// Intake, payments, sign-in of the command line, health and documents.
		"intakeInvite":   a.authenticated("intakeSecret", input(a.intakeInvite)),
		"hostMetrics":    a.authenticated("adminSecret", a.hostMetrics),
		"receivePayment": a.receivePayment,
		"receiveZoom":    a.receiveZoom,

		"initLogin":     perAddress(perMinute(60), a.initLogin),
		"pollLogin":     perAddress(perMinute(600), a.pollLogin),
		"completeLogin": perAddress(perMinute(60), input(a.completeLogin)),

		"health":           a.health, // never limited, because a failed probe can restart the process
		"readiness":        a.readiness,
		"reference":        perAddress(documents, a.reference),
		"describe":         perAddress(documents, content("application/json", a.description)),
		"describeYAML":     perAddress(documents, a.describeYAML),
		"securityText":     perAddress(documents, a.securityText),
		"describeManifest": perAddress(documents, content("application/schema+json", a.Description.ManifestSchema())),
	}
	add := func(handlers map[string]handler, wraps ...func(handler) handler) {
		for operation, handle := range handlers {
			for _, wrap := range wraps {
				handle = wrap(handle)
			}
			all[operation] = handle
		}
	}
	add(map[string]handler{ // for the owners of API keys
		"createJob":            a.createJob,
		"createJobs":           a.createJobs,
		"listJobs":             input(a.listJobs),
		"searchTexts":          input(a.searchTexts),
		"getMe":                a.getMe,
		"getUsage":             input(a.getUsage),
		"listWebhookEndpoints": input(a.listWebhookEndpoints),
		"getWebhookEndpoint":   named("webhook endpoint", a.getWebhookEndpoint),
		"testWebhookEndpoint":  named("webhook endpoint", input(a.testWebhookEndpoint)),
		"retryWebhookEndpoint": named("webhook endpoint", a.retryWebhookEndpoint),
		"listTeamDeliveries":   input(a.listTeamDeliveries),
		"getDelivery":          a.getDelivery,
		"redeliverDelivery":    a.redeliverDelivery,
		"redeliverFailed":      input(a.redeliverFailed),
		"createCalendar":       a.createCalendar,
		"listCalendars":        input(a.listCalendars),
		"listAccounts":         input(a.listAccounts),
		"getIdentityProvider":  a.identityProvider,
		"getAccount":           named("account", a.getAccount),
		"listZoomApps":         input(a.listZoomApps),
	}, a.forConsumer)
	add(map[string]handler{ // on a job
		"getJob":                     a.getJob,
		"getJobSettings":             a.getJobSettings,
		"getJobDetails":              a.getJobDetails,
		"liveJob":                    a.liveJob,
		"listenToJob":                a.listenToJob,
		"getManifest":                a.getManifest,
		"getTranscript":              input(a.getTranscript),
		"getMedia":                   a.getMedia,
		"headMedia":                  a.getMedia,
		"getScreenshot":              a.getScreenshot,
		"patchJob":                   input(a.patchJob),
		"cancelJob":                  changing(a.Jobs.Cancel),
		"requestRecordingPermission": a.command(ingest.RequestRecordingPermission),
		"pauseRecording":             a.command(ingest.PauseRecording),
		"resumeRecording":            a.command(ingest.ResumeRecording),
		"stopRecording":              a.command(ingest.StopRecording),
		"leaveCall":                  a.command(ingest.LeaveCall),
		"sendChatMessage":            input(a.sendChatMessage),
		"pinParticipant":             input(a.pinParticipant),
		"playAudio":                  input(a.playAudio),
		"speak":                      input(a.speak),
		"stopOutput":                 a.command(ingest.StopOutput),
		"setCamera":                  input(a.showPicture(ingest.SetCamera)),
		"shareScreen":                input(a.showPicture(ingest.ShareScreen)),
		"transcribeAgain":            input(a.transcribeAgain),
		"deleteRecording":            changing(a.Jobs.DeleteRecording),
		"listTimeline":               input(a.listTimeline),
		"listDeliveries":             input(a.listDeliveries),
		"redeliver":                  a.redeliver,
	}, ofJob, a.forConsumer)
	add(map[string]handler{ // on a connected calendar
		"getCalendar":        a.getCalendar,
		"patchCalendar":      input(a.patchCalendar),
		"deleteCalendar":     a.deleteCalendar,
		"syncCalendar":       a.syncCalendar,
		"listCalendarEvents": input(a.listCalendarEvents),
		"patchCalendarEvent": input(a.patchCalendarEvent),
	}, ofCalendar, a.forConsumer)
	add(map[string]handler{ // for keys with the scope admin
		"listKeys":              input(a.listKeys),
		"createKey":             a.createKey,
		"listAuditLog":          input(a.listAuditLog),
		"revokeKey":             named("key", a.revokeKey),
		"createWebhookEndpoint": input(a.createWebhookEndpoint),
		"patchWebhookEndpoint":  named("webhook endpoint", input(a.patchWebhookEndpoint)),
		"deleteWebhookEndpoint": named("webhook endpoint", changing(a.Jobs.DeleteEndpoint)),
		"rotateWebhookSecret":   a.rotateWebhookSecret,
		"createAccount":         input(a.createAccount),
		"createZoomApp":         input(a.createZoomApp),
		"deleteZoomApp":         named("app of Zoom", changing(a.deleteZoomApp)),
		"patchAccount":          named("account", input(a.patchAccount)),
		"deleteAccount":         named("account", changing(a.deleteAccount)),
	}, func(handle handler) handler { return a.forScope(account.AdminScope, handle) })
	return all
}
