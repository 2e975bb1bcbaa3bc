package streaming

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"standin/internal/base/retry"
	"standin/internal/recording/transcript"
	"standin/internal/recording/wav"
)

const (
	// cadenceMs is how much new sound is awaited before an utterance is sent again, and
	// minWindowMs how long it is when it is sent before its end.
	cadenceMs   = 2000
	minWindowMs = 3000
	// requestTimeout bounds a request, and maxTries the tries of that with the whole
	// utterance, with pauses of minPause to maxPause.
	requestTimeout = 30 * time.Second
	maxTries       = 3
	minPause       = 500 * time.Millisecond
	maxPause       = 2 * time.Second
	// endMs is how much silence at the end of an utterance is sent.
	endMs = 200
	// nearSoundMs is how far from sound a word may be that was not invented.
	nearSoundMs = 500
)

// windows recognizes utterances with requests that hold the whole utterance so far, at
// most one at a time for each source.
type windows struct{ client *transcript.Client }

func (w *windows) Model() string { return w.client.Model() }

// Recognize implements Recognizer.
func (w *windows) Recognize(ctx context.Context, options Options, in <-chan Audio, heard func(Result)) error {
	var (
		pcm   []byte // of the utterance
		sent  int    // of it, in bytes
		words agreement
		asked question
	)
	defer asked.stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case got := <-asked.answer:
			asked.stop()
			if got.err == nil { // an error is no loss: the next request has the same sound
				words.add(got.words, false)
				heard(words.result(got.utterance, false))
			} else if refusal(got.err) {
				return got.err
			}
		case audio, ok := <-in:
			if !ok {
				return nil
			}
			pcm = append(pcm, audio.PCM...)
			switch {
			case audio.End:
				asked.stop() // the next request has the same sound
				got := w.transcribeWithRetry(ctx, options, audio.Utterance, pcm)
				if got.err != nil {
					return got.err
				}
				words.add(got.words, true)
				heard(words.result(audio.Utterance, true))
				pcm, sent, words = nil, 0, agreement{}
			case asked.answer == nil && len(pcm) >= minWindowMs*bytesPerMs && len(pcm)-sent >= cadenceMs*bytesPerMs:
				sent = len(pcm)
				window := bytes.Clone(pcm)
				asked.answer = make(chan answer, 1)
				asking, cancel := context.WithCancel(ctx)
				asked.cancel = cancel
				asked.running.Go(func() { asked.answer <- w.transcribe(asking, options, audio.Utterance, window) })
			}
		}
	}
}

// question is a request that runs beside others; none if it has no answer.
type question struct {
	answer  chan answer
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// stop ends the request, if there is one.
func (q *question) stop() {
	if q.cancel != nil {
		q.cancel()
		q.running.Wait()
		q.answer, q.cancel = nil, nil
	}
}

// answer is the answer to a request.
type answer struct {
	utterance int
	words     []transcript.Word
	err       error
}

// transcribeWithRetry transcribes an utterance, in several tries.
func (w *windows) transcribeWithRetry(ctx context.Context, options Options, utterance int, pcm []byte) (got answer) {
	backoff := retry.Backoff{Min: minPause, Max: maxPause}
	for try := range maxTries {
		if try > 0 && retry.Sleep(ctx, backoff.Next()) != nil {
			return got
		}
		if got = w.transcribe(ctx, options, utterance, pcm); got.err == nil || refusal(got.err) {
			return got
		}
	}
	return got
}

// transcribe sends an utterance.
func (w *windows) transcribe(ctx context.Context, options Options, utterance int, pcm []byte) answer {
	pcm = withoutEnd(pcm)
	length := time.Duration(len(pcm)/bytesPerMs) * time.Millisecond
	recognized, err := w.client.Transcribe(ctx, transcript.Request{
		WAV: bytes.NewReader(wav.Encode(pcm, SampleRate)), Length: length, Language: options.Language, Keyterms: options.Keyterms,
	})
	if err != nil {
		return answer{utterance: utterance, err: err}
	}
	got := answer{utterance: utterance}
	for _, segment := range recognized.Segments {
		words := segment.Words
		if len(words) == 0 {
			words = plainWords(segment.Text)
			if recognized.Timed {
				length := segment.EndMs - segment.StartMs
				for i := range words {
					words[i].StartMs = segment.StartMs + length*int64(i)/int64(len(words))
					words[i].EndMs = segment.StartMs + length*int64(i+1)/int64(len(words))
				}
			}
		} else if said := plainWords(segment.Text); len(said) == len(words) {
			for i := range words {
				words[i].Text = said[i].Text // with its punctuation
			}
		}
		for _, word := range words {
			if word.EndMs == 0 || loud(pcm, word.StartMs-nearSoundMs, word.EndMs+nearSoundMs) {
				got.words = append(got.words, word)
			}
		}
	}
	return got
}

// withoutEnd returns sound without most of the silence at its end, for which recognizers
// invent words.
func withoutEnd(pcm []byte) []byte {
	const step = frameMs * bytesPerMs
	for end := len(pcm); end >= step; end -= step {
		if rms(pcm[end-step:end]) >= minLevel {
			return pcm[:min(len(pcm), end+endMs*bytesPerMs)]
		}
	}
	return pcm
}

// loud reports whether there is sound between two times.
func loud(pcm []byte, startMs, endMs int64) bool {
	end := min(int(endMs)*bytesPerMs, len(pcm))
	for at := max(0, int(startMs)*bytesPerMs); at+frameMs*bytesPerMs <= end; at += frameMs * bytesPerMs {
		if rms(pcm[at:at+frameMs*bytesPerMs]) >= minLevel {
			return true
		}
	}
	return false
}

// refusal reports whether the recognizer will refuse other requests too.
func refusal(err error) bool {
	refused := new(transcript.Error)
	return errors.As(err, &refused) && refused.Status >= 400 && refused.Status < 500 && refused.Status != 408 && refused.Status != 429
}
