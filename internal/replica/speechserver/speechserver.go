// Package speechserver speaks and recognizes English with programs that Debian has, through the
// interfaces of OpenAI that Standin expects from speech servers, for practice meetings and tests.
package speechserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

const (
	maxText  = 4096     // characters
	maxSound = 64 << 20 // bytes
	parallel = 2
)

// Engine runs the programs.
type Engine struct {
	// Grammar restricts what is recognized, in the JSpeech Grammar Format; empty: any English.
	Grammar string

	slots chan struct{}
}

// New returns an engine.
func New() *Engine { return &Engine{slots: make(chan struct{}, parallel)} }

// Voice returns the program that speaks; empty if there is none.
func Voice() string {
	for _, name := range []string{"flite", "espeak-ng"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Recognizer returns the program that recognizes speech; empty if there is none.
func Recognizer() string {
	path, err := exec.LookPath("pocketsphinx_continuous")
	if err != nil {
		return ""
	}
	return path
}

// Handler serves POST /v1/audio/speech and /v1/audio/transcriptions.
func (e *Engine) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/audio/speech", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Input string }
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		sound, err := e.Speak(r.Context(), body.Input)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "audio/wav")
		_, _ = w.Write(sound)
	})
	mux.HandleFunc("POST /v1/audio/transcriptions", func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxSound)
		file, _, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		defer file.Close()
		text, words, err := e.Recognize(r.Context(), file)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"text": text, "words": words})
	})
	return mux
}

// run runs work when there is a slot, with a temporary folder.
func (e *Engine) run(ctx context.Context, work func(dir string) error) error {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	dir, err := os.MkdirTemp("", "standin-speech-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return work(dir)
}

// Speak returns a text as a WAV file.
func (e *Engine) Speak(ctx context.Context, text string) (sound []byte, err error) {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if len([]rune(text)) > maxText || strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("the text is empty or has more than %d characters", maxText)
	}
	program := Voice()
	if program == "" {
		return nil, errors.New("neither flite nor espeak-ng is installed")
	}
	err = e.run(ctx, func(dir string) error {
		path, source := filepath.Join(dir, "speech.wav"), filepath.Join(dir, "text")
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			return err
		}
		arguments := []string{"-voice", "slt", "-f", source, "-o", path}
		if filepath.Base(program) == "espeak-ng" {
			arguments = []string{"-v", "en-us", "-s", "140", "-f", source, "-w", path}
		}
		//nolint:gosec // the program was found on PATH, and the text is in a file
		if output, err := exec.CommandContext(ctx, program, arguments...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %.200s", filepath.Base(program), err, output)
		}
		sound, err = os.ReadFile(path)
		return err
	})
	return sound, err
}

// Word is a word and its times in seconds.
type Word struct {
	Word  string  `json:"word"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
}

// Recognize returns the words of a sound file of any format.
func (e *Engine) Recognize(ctx context.Context, sound io.Reader) (text string, words []Word, err error) {
	words = []Word{}
	err = e.run(ctx, func(dir string) error {
		path := filepath.Join(dir, "sound.wav")
		//nolint:gosec // the path is this function's
		decode := exec.CommandContext(ctx, "ffmpeg", "-v", "error", "-i", "pipe:0", "-ac", "1", "-ar", "16000", "-f", "wav", path)
		decode.Stdin = sound
		if output, err := decode.CombinedOutput(); err != nil {
			return fmt.Errorf("decode the sound: %w: %.200s", err, output)
		}
		arguments := []string{"-infile", path, "-time", "yes"}
		if e.Grammar != "" {
			rules := filepath.Join(dir, "rules.gram")
			if err := os.WriteFile(rules, []byte(e.Grammar), 0o600); err != nil {
				return err
			}
			arguments = append(arguments, "-jsgf", rules)
		}
		//nolint:gosec // the paths are this function's
		output, err := exec.CommandContext(ctx, "pocketsphinx_continuous", arguments...).Output()
		if err != nil {
			return fmt.Errorf("recognize speech: %w", err)
		}
		words = append(words, parseWords(output)...)
		return nil
	})
	spoken := make([]string, 0, len(words))
	for _, word := range words {
		spoken = append(spoken, word.Word)
	}
	return strings.Join(spoken, " "), words, err
}

// parseWords reads lines of a word, its start, its end and its probability.
func parseWords(output []byte) (words []Word) {
	for line := range bytes.Lines(output) {
		fields := strings.Fields(string(line))
		if len(fields) != 4 || strings.ContainsAny(fields[0], "<[") || fields[0] == "(NULL)" {
			continue
		}
		start, err1 := strconv.ParseFloat(fields[1], 64)
		end, err2 := strconv.ParseFloat(fields[2], 64)
		if err1 == nil && err2 == nil {
			word, _, _ := strings.Cut(fields[0], "(") // a variant, such as "one(2)"
			words = append(words, Word{word, start, end})
		}
	}
	return words
}
