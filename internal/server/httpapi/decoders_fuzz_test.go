package httpapi_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account/billing"
	"standin/internal/server/httpapi"
)

func FuzzPatchJob(f *testing.F) {
	fuzzBodies(f, func(s *surface, t *testing.T, body string) {
		s.serve(t, fuzzRequest{method: http.MethodPatch, route: jobRoute, path: jobsPath + "/" + newAdaJob.String(), bearer: adasKey, body: body})
		s.serve(t, fuzzRequest{method: http.MethodGet, route: jobRoute, path: jobsPath + "/" + newAdaJob.String(), bearer: adasKey})
	},
		`{}`, `{"joinAt":"2999-12-31T23:59:60Z","displayName":" \u0000","metadata":{"a":[1e300,null]},"autoLeave":{"afterSoloSeconds":6e1,"onBotDetected":true},"webhooks":{"onStatusChange":null,"onFinalize":"https://a.example"}}`,
		`{"joinAt":"9999-12-31T23:59:59-23:59"}`, `{"joinAt":"0000-01-01T00:00:00Z"}`,
		`{"joinAt":null,"displayName":null,"metadata":null,"autoLeave":null,"webhooks":null}`,
		`{"autoLeave":{"afterSoloSeconds":1.5},"webhooks":{"onFinalize":""}}`, `{"metadata":{"\ud800":"\u0000"}}`, `[]`, `null`, ``,
	)
}

func FuzzSendChatMessage(f *testing.F) { fuzzCommand(f, "send-chat-message", "text") }

func FuzzPinParticipant(f *testing.F) { fuzzCommand(f, "pin-participant", "participantId") }

// fuzzCommand fuzzes a command with a text argument.
func fuzzCommand(f *testing.F, verb, field string) {
	var seeds []string
	for _, seed := range []string{
		`{"FIELD":"hello"}`, `{"FIELD":" \t\u00a0"}`, `{"FIELD":"\u0000\ud800é\u202e"}`, `{"FIELD":null}`, `{"FIELD":7}`, `{"FIELD":["x"]}`,
		`{"FIELD":"` + strings.Repeat("x", 4001) + `"}`, `{"FIELD":"a","FIELD":"b"}`, `{}`, `[]`, ``,
	} {
		seeds = append(seeds, strings.ReplaceAll(seed, "FIELD", field))
	}
	fuzzBodies(f, func(s *surface, t *testing.T, body string) {
		s.serve(t, fuzzRequest{
			method: http.MethodPost, route: jobRoute + "/" + verb, path: jobsPath + "/" + newAdaJob.String() + "/" + verb, bearer: adasKey,
			body: body,
		})
	}, seeds...)
}

func FuzzListQueries(f *testing.F) {
	fuzzBodies(f, func(s *surface, t *testing.T, query string) {
		s.serve(t, fuzzRequest{method: http.MethodGet, route: jobsPath, query: query, bearer: adasKey})
		for _, list := range []string{"timeline", "deliveries"} {
			s.serve(t, fuzzRequest{
				method: http.MethodGet, route: jobRoute + "/" + list, path: jobsPath + "/" + newAdaJob.String() + "/" + list, query: query,
				bearer: adasKey,
			})
		}
	},
		"", "limit=100&cursor=AAABkvXIaRGSlvXIaRF-UrDIanuMnQ4f", "limit=1e2", "limit=-1&limit=1", "cursor=%00", "cursor=////",
		"status=failed&platform=meet&externalId=%00%ff", "createdFrom=2026-11-20T00:00:00+01:00&createdTo=9999-12-31T23:59:60Z",
		"joinFrom=0000-01-01T00:00:00Z&joinTo=x", "status=&limit=", "%zz&;", "limit=1;status=failed",
	)
}

// FuzzPaths fuzzes the ids in paths.
func FuzzPaths(f *testing.F) {
	for _, seed := range [][2]string{
		{uuid.NewString(), "dlv_x"}, {"x", ""}, {"\x00", "\xff"}, {"..", "."}, {strings.Repeat("x", 300), "%2F"}, {"{id}", "a b"},
	} {
		f.Add(seed[0], seed[1])
	}
	s := newSurface(f, withoutLog)
	f.Fuzz(func(t *testing.T, first, second string) {
		if strings.ContainsAny(first+second, "/") || first == "" || second == "" || first == "." || first == ".." || second == "." ||
			second == ".." {
			return // another path
		}
		redeliver := jobRoute + "/deliveries/{deliveryId}/redeliver"
		for _, named := range []string{first, newAdaJob.String()} {
			s.serve(t, fuzzRequest{
				method: http.MethodPost, route: redeliver, path: jobsPath + "/" + named + "/deliveries/" + second + "/redeliver", bearer: adasKey,
			})
			s.serve(t, fuzzRequest{method: http.MethodGet, route: mediaRoute, path: jobsPath + "/" + named + "/media/" + second, bearer: adasKey})
		}
		s.serve(t, fuzzRequest{method: http.MethodPost, route: pollRoute, path: "/api/v1/cli-auth/poll/" + first})
	})
}

const (
	pollRoute     = "/api/v1/cli-auth/poll/{nonce}"
	completeRoute = "/api/v1/cli-auth/complete"
	inviteRoute   = "/api/v1/intake/calendar-invite"
	hostRoute     = "/api/v1/admin/host"
	paymentRoute  = "/webhooks/payments"
)

func FuzzCompleteLogin(f *testing.F) {
	fuzzBodies(f, func(s *surface, t *testing.T, body string) {
		flow, err := s.flows.Init(t.Context(), fmt.Sprint(s.clients.Load()), "")
		if err != nil {
			t.Skip(err) // too many open flows
		}
		s.serve(t, fuzzRequest{method: http.MethodPost, route: completeRoute, body: strings.ReplaceAll(body, "NONCE", flow.Nonce)})
		s.serve(t, fuzzRequest{method: http.MethodPost, route: pollRoute, path: "/api/v1/cli-auth/poll/" + flow.Nonce})
	},
		`{"nonce":"NONCE","apiKey":"k","email":"a@example.com"}`, `{"nonce":"NONCE","apiKey":"\u0000\ud800"}`, `{"nonce":"NONCE","apiKey":""}`,
		`{"nonce":"","apiKey":"k"}`, `{"nonce":"\u0000","apiKey":"k"}`, `{"nonce":"x","apiKey":null,"email":"not one"}`, `{"apiKey":7}`, `[]`, ``,
	)
}

func FuzzIntakeInvite(f *testing.F) {
	const minimal = `{"organizerEmail":"ada@example.com","meetingUrl":"https://meet.google.com/abc","platform":"meet","joinAt":"2999-01-01T00:00:00Z"`
	fuzzBodies(f, func(s *surface, t *testing.T, body string) {
		s.serve(t, fuzzRequest{
			method: http.MethodPost, route: inviteRoute, header: map[string]string{httpapi.IntakeSecretHeader: intakeSecret}, body: body,
		})
	},
		minimal+`}`, minimal+`,"icalUid":null}`, minimal+`,"icalUid":"","subject":" "}`, minimal+
			`,"icalUid":"\u0000\ud800","subject":"\u202e"}`,
		strings.Replace(minimal, "ada@example.com", `\"a b\"@[::1]`, 1)+`}`, strings.Replace(minimal, "ada@", strings.Repeat("a", 300)+"@",
			1)+`}`,
		strings.Replace(minimal, "https://meet.google.com/abc", "https://a.example/\u00a0", 1)+`}`,
		strings.Replace(minimal, "2999-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", 1)+`}`,
		strings.Replace(minimal, `"meet"`, `"zoom-sdk"`, 1)+`}`, `{"organizerEmail":null}`, `[]`, ``,
	)
}

// FuzzReceivePayment fuzzes bodies with a valid signature, and signatures.
func FuzzReceivePayment(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"id":"evt_1","type":"customer.subscription.created","created":1,"data":{"object":{"id":"sub_1","customer":"cus_1","status":"active"}}}`, "t=1,v1=00"},
		{`{"id":"evt_2","type":"invoice.paid","created":-1e300,"data":{"object":{"subscription":{"id":"sub_1"},"lines":{"data":[{"period":{"end":99999999999999}}]}}}}`, "t=,v1="},
		{`{"id":"\u0000","type":null,"data":[]}`, "v1=00,t=9999999999999999999"},
		{`{}`, "\xff"}, {`[]`, "t"}, {`null`, ","}, {`{`, ""}, {"\xff", "t=1,t=2,v1=00"}, {``, "=,=,="},
	} {
		f.Add(seed[0], seed[1])
	}
	s := newSurface(f, withoutLog)
	f.Fuzz(func(t *testing.T, body, signature string) {
		if got := s.serve(t, fuzzRequest{
			method: http.MethodPost, route: paymentRoute, header: map[string]string{billing.Header: signature}, body: body,
		}); got == 200 {
			t.Errorf("the signature %q is accepted", signature)
		}
		s.serve(t, fuzzRequest{method: http.MethodPost, route: paymentRoute, header: signedPayment(paymentSecret, body), body: body})
	})
}

// signedPayment returns the header of a payment event with a current signature.
func signedPayment(key, body string) map[string]string {
	stamp := fmt.Sprint(time.Now().Unix())
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(stamp + "." + body))
	return map[string]string{billing.Header: "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))}
}
