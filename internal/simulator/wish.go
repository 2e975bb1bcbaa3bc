package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Bounds of what may be wished for.
const (
	maxSeconds = 3600
	maxSpeed   = 100
	shownText  = 60 // characters of a wish that are repeated in an error
)

// answer is what the imagined host says to a request for permission to record.
type answer string

const (
	granted answer = "granted"
	denied  answer = "denied"
	timeout answer = "timeout"
)

// wish is what a job's metadata asks of the simulator: a course, with some of
// it changed.
type wish struct {
	course
	speed float64
}

// readWish reads metadata.simulate: the name of an outcome, or an object with
// options. What cannot be fulfilled is an error that says what could be.
func readWish(metadata json.RawMessage) (wish, error) {
	var told struct {
		Simulate json.RawMessage `json:"simulate"`
	}
	if len(metadata) > 0 {
		if err := json.Unmarshal(metadata, &told); err != nil {
			return wish{}, errors.New("the job's metadata is no JSON object")
		}
	}
	options := struct {
		Outcome    *string  `json:"outcome"`
		Seconds    *float64 `json:"seconds"`
		Speed      *float64 `json:"speed"`
		Permission *answer  `json:"permission"`
	}{}
	switch text := bytes.TrimSpace(told.Simulate); {
	case len(text) == 0 || string(text) == "null":
	case text[0] == '"':
		options.Outcome = new(string)
		if err := json.Unmarshal(text, options.Outcome); err != nil {
			return wish{}, errors.New("metadata.simulate is unreadable")
		}
	default:
		if err := decodeStrictly(text, &options); err != nil {
			return wish{}, fmt.Errorf("metadata.simulate must be the name of an outcome, or an object of outcome, seconds, speed and permission: %s", shown(err.Error()))
		}
	}
	wished := wish{course: courses()[0], speed: 1}
	if options.Outcome != nil {
		at := slices.IndexFunc(courses(), func(c course) bool { return c.name == *options.Outcome })
		if at < 0 {
			return wish{}, fmt.Errorf("metadata.simulate: there is no outcome %q; there are %s", shown(*options.Outcome), strings.Join(Outcomes(), ", "))
		}
		wished.course = courses()[at]
	}
	if options.Seconds != nil {
		if *options.Seconds < 0 || *options.Seconds > maxSeconds {
			return wish{}, fmt.Errorf("metadata.simulate.seconds must be from 0 to %d", maxSeconds)
		}
		wished.stay = time.Duration(*options.Seconds * float64(time.Second))
	}
	if options.Speed != nil {
		if *options.Speed < 1 || *options.Speed > maxSpeed {
			return wish{}, fmt.Errorf("metadata.simulate.speed must be from 1 to %d", maxSpeed)
		}
		wished.speed = *options.Speed
	}
	if options.Permission != nil {
		if !slices.Contains([]answer{granted, denied, timeout}, *options.Permission) {
			return wish{}, fmt.Errorf("metadata.simulate.permission must be %s, %s or %s", granted, denied, timeout)
		}
		wished.answer = *options.Permission
	}
	return wished, nil
}

// decodeStrictly refuses fields that nobody knows: a misspelt option would
// otherwise silently do nothing.
func decodeStrictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind it")
	}
	return nil
}

// shown is the beginning of a text from outside.
func shown(text string) string {
	if runes := []rune(text); len(runes) > shownText {
		return string(runes[:shownText]) + "…"
	}
	return text
}
