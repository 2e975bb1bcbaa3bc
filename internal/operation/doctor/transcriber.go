package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"standin/internal/recording/transcript"
	"standin/internal/recording/transcript/streaming"
)

// checkTranscriber sends half a second of speech to the transcriber.
func checkTranscriber(ctx context.Context, settings Settings) Check {
	const name = checkName("transcriber")
	client, err := transcript.NewClient(settings.Transcriber)
	if err != nil {
		return name.fail(transcriberSettings, "%v", err)
	}
	if client == nil {
		return name.ok("STANDIN_TRANSCRIBER_URL is not set: recordings have no transcripts")
	}
	ctx, cancel := context.WithTimeout(ctx, transcriberTimeout)
	defer cancel()
	heard, err := client.Check(ctx)
	refused := new(transcript.Error)
	switch {
	case errors.As(err, &refused):
		return name.fail(transcriberFix(refused.Status, "STANDIN_TRANSCRIBER",
			"set STANDIN_TRANSCRIBER_URL to a server with OpenAI's POST /v1/audio/transcriptions, and STANDIN_TRANSCRIBER_MODEL to one of "+
				"its models"),
			"%v", refused)
	case err != nil:
		return name.fail("make sure that this user can write to the folder of temporary files",
			"%v", err)
	}
	return heardHello(name, client.Model(), heard, "STANDIN_TRANSCRIBER")
}

// checkLiveTranscriber lets the live transcriber hear half a second of speech.
func checkLiveTranscriber(ctx context.Context, settings Settings) Check {
	const name = checkName("live transcriber")
	recognizer, err := streaming.New(settings.Live)
	if err != nil {
		return name.fail(transcriberSettings, "%v", err)
	}
	if recognizer == nil {
		return name.ok("STANDIN_LIVE_TRANSCRIBER is not set: meetings are not transcribed while they run")
	}
	ctx, cancel := context.WithTimeout(ctx, transcriberTimeout)
	defer cancel()
	heard, err := streaming.Check(ctx, recognizer)
	if err == nil {
		return heardHello(name, recognizer.Model(), heard, "STANDIN_LIVE_TRANSCRIBER")
	}
	refused := new(transcript.Error)
	errors.As(err, &refused)
	fix := transcriberFix(refused.Status, "STANDIN_LIVE_TRANSCRIBER",
		"set STANDIN_LIVE_TRANSCRIBER to the protocol of the server, STANDIN_LIVE_TRANSCRIBER_URL to its address, and "+
			"STANDIN_LIVE_TRANSCRIBER_MODEL to one of its models")
	if refused.Status == 0 && refused.Detail != "" {
		fix = "set STANDIN_LIVE_TRANSCRIBER_MODEL to a model of the server"
	}
	return name.fail(fix, "%v", err)
}

// transcriberSettings is how to fix settings.
const transcriberSettings = "see /docs/guide/transcripts.html of the service for the settings"

// heardHello returns the result of a transcriber that answers. setting is the prefix of its settings.
func heardHello(name checkName, model, heard, setting string) Check {
	if heard == "" {
		return name.warn("use another model if transcripts lack words: "+setting+"_MODEL",
			"it answers with the model %s, but heard nothing in a spoken “hello”", model)
	}
	return name.ok("it answers with the model %s, and heard %q in a spoken “hello”", model, heard)
}

// transcriberFix returns how to fix a refusal with a status, 0 for no answer; other if that depends
// on the kind of transcriber.
func transcriberFix(status int, setting, other string) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("set %s_API_KEY to a key that the server accepts", setting)
	case http.StatusTooManyRequests:
		return "wait, or raise the limits of your account with the provider"
	case 0:
		return fmt.Sprintf("make sure that the server runs, and that %s_URL is its address", setting)
	}
	return other
}
