package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"standin/internal/transcript"
	"standin/internal/transcript/streaming"
)

// checkTranscriber sends half a second of speech to the transcriber.
func checkTranscriber(ctx context.Context, settings Settings) Check {
	const name = checkName("transcriber")
	if settings.TranscriberURL == "" {
		return name.ok("STANDIN_TRANSCRIBER_URL is not set: recordings have no transcripts")
	}
	client, err := settings.Transcriber()
	if err != nil {
		return name.fail(err.Error(), "see /docs/guide/transcripts.html of the service for the settings")
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

// checkLiveTranscriber lets the live transcriber hear half a second of speech.
func checkLiveTranscriber(ctx context.Context, settings Settings) Check {
	const name = checkName("live transcriber")
	var recognizer streaming.Recognizer
	var err error
	if settings.LiveTranscriber != nil {
		recognizer, err = settings.LiveTranscriber()
	}
	if err != nil {
		return name.fail(err.Error(), "see /docs/guide/transcripts.html of the service for the settings")
	}
	if recognizer == nil {
		return name.ok("STANDIN_LIVE_TRANSCRIBER is not set: meetings are not transcribed while they run")
	}
	ctx, cancel := context.WithTimeout(ctx, transcriberTimeout)
	defer cancel()
	heard, err := streaming.Check(ctx, recognizer)
	if err != nil {
		refused := new(streaming.Error)
		errors.As(err, &refused)
		return name.fail(err.Error(), liveTranscriberFix(refused))
	}
	if heard == "" {
		return name.warn(fmt.Sprintf("it answers with the model %s, but heard nothing in a spoken “hello”", recognizer.Model()),
			"use another model if transcripts lack words: STANDIN_LIVE_TRANSCRIBER_MODEL")
	}
	return name.ok("it answers with the model %s, and heard %q in a spoken “hello”", recognizer.Model(), heard)
}

// liveTranscriberFix returns how to fix a failure.
func liveTranscriberFix(refused *streaming.Error) string {
	switch refused.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "set STANDIN_LIVE_TRANSCRIBER_API_KEY or STANDIN_LIVE_TRANSCRIBER_API_KEY_FILE to a key that the server accepts"
	case http.StatusTooManyRequests:
		return "wait, or raise the limits of your account with the provider"
	case 0:
		if refused.Detail != "" {
			return "set STANDIN_LIVE_TRANSCRIBER_MODEL to a model of the server"
		}
		return "make sure that the server runs, that STANDIN_LIVE_TRANSCRIBER_URL is its address, and that STANDIN_LIVE_TRANSCRIBER_ALLOW_CIDRS contains it if it is not public"
	}
	return "set STANDIN_LIVE_TRANSCRIBER to the protocol of the server, STANDIN_LIVE_TRANSCRIBER_URL to its address, and STANDIN_LIVE_TRANSCRIBER_MODEL to one of its models"
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
