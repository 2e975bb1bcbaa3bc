package service_test

import (
	"flag"
	"strings"
	"testing"
)

// contractExcluded maps the statuses that this test does not cause to the reasons.
var contractExcluded = map[string]string{
	"getMedia 307":    "only object storage signs URLs; TestRecordingsOnS3 tests it",
	"getMedia 202":    "it takes a conversion of more than 20 seconds; package httpapi tests it with one that does not end",
	"headMedia 202":   "like getMedia 202",
	"ingestEvent 429": "a bot's quota of events takes thousands of requests; packages httpapi and lifecycle test it with a small quota",
	"ingestTexts 429": "a bot's quota of texts takes a thousand requests; package store tests it",
	"readiness 503":   "it needs a broken machine; TestNotReady tests it",
	"signUpload 429":  "like uploadMedia 429",
	"uploadMedia 429": "a bot's quota of uploads takes gigabytes; packages httpapi and lifecycle test it with a small quota",
}

// TestContract causes each status of each operation of api/openapi.yaml on the
// complete service and validates every response against the description.
func TestContract(t *testing.T) {
	t.Parallel()
	coverage := newContractCoverage()
	h := openContractHarness(t, coverage, contractSettings(t))
	t.Run("rows", func(t *testing.T) {
		for name, rows := range map[string]func(*testing.T, *contractHarness){
			"jobs": contractJobs, "patch": contractPatch, "lists": contractLists, "controls": contractControls,
			"recordings": contractRecordings, "transcribe again": contractTranscribeAgain, "history": contractHistory, "search": contractSearch,
			"bots": contractBots, "texts": contractIngestTexts, "uploads": contractUploads, "signing": contractSigning,
			"calendar": contractCalendar, "calendars": contractCalendars, "pages": contractPages, "login": contractLogin,
			"operator": contractOperator, "payments": contractPayments,
			"service": contractService, "keys": contractKeys, "bodies": contractBodies, "webhooks": contractWebhooks,
			"links": contractLinks, "times": contractTimes, "replays": contractReplays, "ignored fields": contractIgnored,
			"options": contractOptions, "startBefore": contractStartBefore,
			"batches": contractBatches, "series": contractSeries, "live": contractSimulatedLive,
			"pending": contractPending, "streams": contractStreams,
			"sound": contractSound, "screenshots": contractScreenshots, "cancelled": contractCancelled, "notetaker": contractNotetaker,
			"invites":     contractInvites,
			"accounts":    contractAccounts,
			"zoom":        contractZoom,
			"credentials": contractCredentials, "foreign keys": contractForeign, "idempotency": contractIdempotency, "audit log": contractAudit,
			"issues": contractIssues,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				rows(t, h)
			})
		}
		t.Run("slow", func(t *testing.T) { t.Parallel(); contractSlow(t, coverage) })
		t.Run("prelaunch", func(t *testing.T) { t.Parallel(); contractPrelaunch(t, coverage) })
		t.Run("broken", func(t *testing.T) { t.Parallel(); contractBroken(t, coverage) })
		t.Run("output", func(t *testing.T) { t.Parallel(); contractOutput(t, coverage) })
		t.Run("limited", func(t *testing.T) { t.Parallel(); contractLimited(t, coverage) })
	})
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return // only some rows ran, such as those that failed before
	}
	for _, operation := range h.description.Operations() {
		for _, status := range operation.Statuses {
			row := operation.ID + " " + status
			if _, excluded := contractExcluded[row]; coverage.seen[row] == excluded {
				t.Errorf("%s: seen %v, excluded %v", row, coverage.seen[row], excluded)
			}
		}
	}
	t.Logf("%d pairs of operation and status seen", len(coverage.seen))
}
