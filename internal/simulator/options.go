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

// Limits of the options.
const (
	maxSeconds = 3600
	maxSpeed   = 100
	maxShown   = 60 // characters of the options that an error repeats
)

// permission is the imaginary host's answer to a request to record.
type permission string

const (
	granted permission = "granted"
	denied  permission = "denied"
	timeout permission = "timeout"
)

// options are what metadata.simulate asks for: a scenario and changes to it.
type options struct {
	scenario
	speed float64
}

// parseOptions parses metadata.simulate: the name of an outcome, or an object.
func parseOptions(metadata json.RawMessage) (options, error) {
	var body struct {
		Simulate json.RawMessage `json:"simulate"`
	}
	if len(metadata) > 0 {
		if err := json.Unmarshal(metadata, &body); err != nil {
			return options{}, errors.New("the job's metadata is not a JSON object")
		}
	}
	fields := struct {
		Outcome    *string     `json:"outcome"`
		Seconds    *float64    `json:"seconds"`
		Speed      *float64    `json:"speed"`
		Permission *permission `json:"permission"`
	}{}
	switch text := bytes.TrimSpace(body.Simulate); {
	case len(text) == 0 || string(text) == "null":
	case text[0] == '"':
		fields.Outcome = new(string)
		if err := json.Unmarshal(text, fields.Outcome); err != nil {
			return options{}, errors.New("metadata.simulate is malformed")
		}
	default:
		if err := decodeStrict(text, &fields); err != nil {
			return options{}, fmt.Errorf("metadata.simulate must be the name of an outcome, or an object with outcome, seconds, speed and permission: %s", truncate(err.Error()))
		}
	}
	opts := options{scenario: scenarios()[0], speed: 1}
	if fields.Outcome != nil {
		at := slices.IndexFunc(scenarios(), func(c scenario) bool { return c.name == *fields.Outcome })
		if at < 0 {
			return options{}, fmt.Errorf("metadata.simulate: unknown outcome %q; the outcomes are %s", truncate(*fields.Outcome), strings.Join(Outcomes(), ", "))
		}
		opts.scenario = scenarios()[at]
	}
	if fields.Seconds != nil {
		if *fields.Seconds < 0 || *fields.Seconds > maxSeconds {
			return options{}, fmt.Errorf("metadata.simulate.seconds must be from 0 to %d", maxSeconds)
		}
		opts.duration = time.Duration(*fields.Seconds * float64(time.Second))
	}
	if fields.Speed != nil {
		if *fields.Speed < 1 || *fields.Speed > maxSpeed {
			return options{}, fmt.Errorf("metadata.simulate.speed must be from 1 to %d", maxSpeed)
		}
		opts.speed = *fields.Speed
	}
	if fields.Permission != nil {
		if !slices.Contains([]permission{granted, denied, timeout}, *fields.Permission) {
			return options{}, fmt.Errorf("metadata.simulate.permission must be %s, %s or %s", granted, denied, timeout)
		}
		opts.permission = *fields.Permission
	}
	return opts, nil
}

// decodeStrict rejects unknown fields, because a misspelled option would have
// no effect.
func decodeStrict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected data after the object")
	}
	return nil
}

// truncate shortens text from outside.
func truncate(text string) string {
	if runes := []rune(text); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return text
}
