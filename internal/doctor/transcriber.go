package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"standin/internal/transcript"
)

// checkTranscriber sends half a second of speech to the transcriber.
func checkTranscriber(ctx context.Context, settings Settings) Check {
	const name = checkName("transcriber")
	if settings.TranscriberURL == "" {
		return name.ok("STANDIN_TRANSCRIBER_URL is not set: recordings have no transcripts")
	}
	client, err := settings.Transcriber()
	if err != nil {
		return name.fail(err.Error(), "set the variables as in docs/transcripts.md")
	}
	ctx, cancel := context.WithTimeout(ctx, transcriberTimeout)
	defer cancel()
	heard, err := client.Check(ctx)
	refused := new(transcript.Error)
	if errors.As(err, &refused) {
		found := refused.Error()
		if refused.Detail != "" {
			found += ": " + refused.Detail
		}
		return name.fail(found, transcriberFix(refused))
	}
	if err != nil {
		return name.fail(err.Error(), "make sure that this user can write to the folder of temporary files")
	}
	if heard == "" {
		return name.warn(fmt.Sprintf("it answers with the model %s, but heard nothing in a spoken “hello”", client.Model()),
			"use another model if transcripts lack words: STANDIN_TRANSCRIBER_MODEL")
	}
	return name.ok("it answers with the model %s, and heard %q in a spoken “hello”", client.Model(), heard)
}

// transcriberFix returns how to fix what a refusal is about.
func transcriberFix(refused *transcript.Error) string {
	switch refused.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "set STANDIN_TRANSCRIBER_API_KEY or STANDIN_TRANSCRIBER_API_KEY_FILE to a key that the server accepts"
	case http.StatusTooManyRequests:
		return "wait, or raise the limits of your account with the provider"
	case 0:
		return "make sure that the server runs, that STANDIN_TRANSCRIBER_URL is its address, and that STANDIN_TRANSCRIBER_ALLOW_CIDRS contains it if it is not public"
	}
	return "set STANDIN_TRANSCRIBER_URL to a server with OpenAI's POST /v1/audio/transcriptions, and STANDIN_TRANSCRIBER_MODEL to one of its models"
}
