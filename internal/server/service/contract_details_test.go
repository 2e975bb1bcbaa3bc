package service_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/testing/await"
)

// contractLinks tests the platform of wrapped links and the warning about links that
// lead to no meeting.
func contractLinks(t *testing.T, h *contractHarness) {
	wrapped := func(link string) string {
		return "https://eur01.safelinks.protection.outlook.com/?url=" + url.QueryEscape(link) + "&data=05%7C02"
	}
	day := 0
	for link, want := range map[string]struct {
		platform string
		warns    bool
	}{
		"https://meet.google.com/abc-defg-hij":                                           {"meet", false},
		wrapped("https://us02web.zoom.us/j/81234567890?pwd=x"):                           {"zoom-web", false},
		wrapped("https://teams.microsoft.com/meet/2412345678901?p=x"):                    {"teams", false},
		"https://www.google.de/url?q=https%3A%2F%2Fzoom.us%2Fj%2F81234567890":            {"zoom-web", false},
		"https://urldefense.com/v3/__https://zoom.us/j/81234567890?pwd=QUJD__;!!Abc!xyz": {"zoom-web", false},
		"https://teams.cloud.microsoft/meet/2412345678901":                               {"teams", false},
		"https://meet.google.com/new":                                                    {"meet", true},
		"https://zoom.us/meeting/register/tJ0":                                           {"zoom-web", true},
		"https://www.zoominfo.com/c/acme/1":                                              {"meet", true},
	} {
		day++ // two jobs for one meeting at one time are another warning
		made := h.call(t, 201, h.ada, "createJob", fmt.Sprintf(
			`{"externalId":%q,"meetingUrl":%q,"joinAt":"2998-01-%02dT00:00:00Z"}`, uuid.NewString(), link, day))
		if made.text(t, "platform") != want.platform || made.text(t, "meetingUrl") != link ||
			(made.header.Get("X-Standin-Warning") != "") != want.warns {
			t.Errorf("%s: %s with the warning %q", link, made.body, made.header.Get("X-Standin-Warning"))
		}
	}
}

// contractTimes tests the accepted forms of joinAt. An unset time counts as absent.
func contractTimes(t *testing.T, h *contractHarness) {
	for text, want := range map[string]string{
		"2999-01-01T10:00Z": "2999-01-01T10:00:00.000Z", "2999-01-01T10:00:00+0100": "2999-01-01T09:00:00.000Z",
		"29990101T000000Z": "2999-01-01T00:00:00.000Z", "2999-01-01t10:00:00z": "2999-01-01T10:00:00.000Z",
	} {
		id := h.create(t, h.ada, contractJob(contractFuture))
		for _, got := range []contractResponse{
			h.call(t, 201, h.ada, "createJob", contractJob(`,"joinAt":"`+text+`"`)),
			h.call(t, 200, h.ada, "patchJob", `{"joinAt":"`+text+`"}`, id),
		} {
			if got.text(t, "joinAt") != want {
				t.Errorf("joinAt %s became %s", text, got.text(t, "joinAt"))
			}
		}
	}
	for _, unset := range []string{"0001-01-01T00:00:00Z", "0001-01-01T00:00:00.0001Z"} {
		now := h.call(t, 201, h.bob, "createJob", contractJob(`,"joinAt":"`+unset+`"`))
		if at, err := time.Parse(time.RFC3339, now.text(t, "joinAt")); err != nil || time.Since(at).Abs() > time.Minute {
			t.Errorf("an unset joinAt became %s", now.text(t, "joinAt"))
		}
		id := h.create(t, h.ada, contractJob(contractFuture))
		same := h.call(t, 200, h.ada, "patchJob", `{"joinAt":"`+unset+`"}`, id)
		if same.text(t, "joinAt") != "2999-01-01T00:00:00.000Z" {
			t.Errorf("a patch with an unset joinAt returned %s", same.body)
		}
	}
	h.call(t, 400, h.ada, "createJob", contractJob(`,"joinAt":"2999-01-01T24:00:00Z"`))
}

// contractReplays tests that a known externalId returns its job whatever the rest of
// the body says.
func contractReplays(t *testing.T, h *contractHarness) {
	name := uuid.NewString()
	made := h.call(t, 201, h.ada, "createJob", `{"externalId":"`+name+`","meetingUrl":"https://zoom.us/j/1"`+contractFuture+`}`)
	for _, rest := range []string{
		``, `,"meetingUrl":"nowhere"`, `,"meetingUrl":7,"joinAt":"soon","autoLeave":{"afterSoloSeconds":0}`,
		`,"platform":"webex","metadata":[]`,
	} {
		again := h.call(t, 200, h.ada, "createJob", `{"externalId":"`+name+`"`+rest+`}`)
		if string(again.body) != string(made.body) || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the replay with %s returned %s", rest, again.body)
		}
	}
}

// contractIgnored tests that unknown fields are accepted and named, and that a patch
// names a field that cannot change.
func contractIgnored(t *testing.T, h *contractHarness) {
	made := h.call(t, 201, h.ada, "createJob", contractJob(contractFuture+`,"join_at":"2999-01-01T00:00:00Z","mood":1`))
	patched := h.call(t, 200, h.ada, "patchJob", `{"display_name":"x"}`, made.text(t, "id"))
	plain := h.call(t, 200, h.ada, "patchJob", `{"displayName":"x"}`, made.text(t, "id"))
	for want, reply := range map[string]contractResponse{"join_at, mood": made, "display_name": patched, "": plain} {
		fields := strings.Split(reply.header.Get("X-Ignored-Fields"), ", ")
		slices.Sort(fields)
		if strings.Join(fields, ", ") != want {
			t.Errorf("ignored fields %q, want %q", fields, want)
		}
	}
	for field, value := range map[string]string{
		"meetingUrl": `"https://zoom.us/j/1"`, "externalId": `"x"`, "platform": `"teams"`, "status": `"failed"`,
	} {
		h.refuse(t, `"`+field+`"`, h.ada, "patchJob", `{"`+field+`":`+value+`}`, made.text(t, "id"))
	}
	settings := h.call(t, 200, h.ada, "getJobSettings", "", made.text(t, "id"))
	if strings.TrimSpace(string(settings.body)) != `{"displayName":"x","webhooks":{"onStatusChange":null,"onFinalize":null}}` {
		t.Errorf("settings %s", settings.body)
	}
}

// contractCancelled tests that the bot of a cancelled job is told to leave before
// anything else, with a token in any case.
func contractCancelled(t *testing.T, h *contractHarness) {
	id := h.create(t, h.ada, contractJob(contractFuture))
	h.sendEvent(t, id, "lifecycle.in_meeting", "")
	h.call(t, 202, h.ada, "pauseRecording", "", id)
	h.call(t, 202, h.ada, "sendChatMessage", `{"text":"hello"}`, id)
	h.call(t, 204, h.ada, "cancelJob", "", id)
	beat := h.call(t, 200, strings.ToUpper(contractToken(id, 0)), "heartbeat", `{"jobId":"`+id+`","attempt":0}`)
	var answer struct{ Commands []struct{ Kind string } }
	if err := json.Unmarshal(beat.body, &answer); err != nil || len(answer.Commands) != 1 || answer.Commands[0].Kind != "leave_call" {
		t.Errorf("commands of a cancelled job: %s", beat.body)
	}
}

// contractNotetaker tests that leftMeeting is true when the job says to leave, whatever
// the bot reports.
func contractNotetaker(t *testing.T, h *contractHarness) {
	for leave, reported := range map[bool]string{true: `,"leftMeeting":false`, false: ``} {
		hooks := newContractHooks(t, h.checker)
		id := h.create(t, h.ada, contractJob(fmt.Sprintf(`%s,"webhooks":{"onStatusChange":%q},"autoLeave":{"onBotDetected":%v}`, contractFuture,
			hooks.URL, leave)))
		h.sendEvent(t, id, "lifecycle.competing_bot_detected", `{"detectedBotName":"Notes"`+reported+`}`)
		await.Until(t, "the webhook about another notetaker", func() bool { return hooks.has("bot.competing_bot_detected") })
		hooks.mu.Lock()
		if body := hooks.last; !strings.Contains(body, fmt.Sprintf(`"leftMeeting":%v`, leave)) {
			t.Errorf("onBotDetected %v: %s", leave, body)
		}
		hooks.mu.Unlock()
	}
}

// contractInvites tests that an invite is not scheduled anew after its consumer has
// cancelled the job, and that the timeline of a late invite's job says so.
func contractInvites(t *testing.T, h *contractHarness) {
	invite := func(status int, joinAt string) contractResponse {
		t.Helper()
		return h.invite(t, status, `{"organizerEmail":"ada@example.com","meetingUrl":"https://meet.google.com/abc-defg-hij","platform":"meet","joinAt":"`+
			joinAt+`","icalUid":"details-`+joinAt+`"}`)
	}
	first := invite(201, "2999-07-01T10:00:00Z").text(t, "jobId")
	h.call(t, 204, h.ada, "cancelJob", "", first)
	again := invite(200, "2999-07-01T10:00:00Z")
	if again.text(t, "jobId") != first || again.text(t, "kind") != "deduped" || !again.has(`"dismissed":true`) {
		t.Errorf("the invite of a cancelled job: %s", again.body)
	}
	late := invite(201, "2020-07-01T10:00:00Z").text(t, "jobId")
	timeline := h.call(t, 200, h.ada, "listTimeline", "", late)
	if !timeline.has(`"kind":"invite_time_passed"`) {
		t.Errorf("the timeline of a late invite: %s", timeline.body)
	}
	if got := h.awaitStatus(t, h.ada, late, job.Failed, job.Dispatching).text(t, "joinAt"); got != "2020-07-01T10:00:00.000Z" {
		t.Errorf("joinAt of a late invite is %s", got)
	}
}
