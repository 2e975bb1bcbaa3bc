package api_test

import "testing"

func TestSentence(t *testing.T) {
	t.Parallel()
	d := description(t)
	for body, want := range map[string]string{
		`{`:                                    "The body is not valid JSON: it ends too early.",
		`[]`:                                   "Must be an object, not an array.",
		`{` + goodURL + `}`:                    "Missing externalId.",
		`{` + goodJob + `,"platform":"webex"}`: `Invalid platform "webex". Use one of: meet, teams, zoom-web, zoom-sdk.`,
		`{` + goodJob + `,"platform":7}`:       "Invalid platform: must be a string, not a number.",
		`{` + goodJob + `,"autoLeave":{"afterSoloSeconds":0}}`: "Invalid autoLeave.afterSoloSeconds: must be at least 1.",
		`{` + goodJob + `,"metadata":{"a":"\u0000"}}`:          "Invalid metadata.a: must not contain control characters (U+0000).",
	} {
		issues := d.CheckRequest("createJob", []byte(body)).Issues
		if len(issues) == 0 || issues[0].Sentence() != want {
			t.Errorf("%s\n got %+v\nwant %s", body, issues, want)
		}
	}
}
