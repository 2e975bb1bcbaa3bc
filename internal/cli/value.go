package cli

import (
	"encoding"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Set sets the field. The first call for a slice replaces its default.
func (f *Field) Set(text string) error {
	if !f.isSlice() {
		if err := f.parseOne(text, f.target); err != nil {
			return err
		}
		f.set = true
		return nil
	}
	parts := []string{text}
	if !f.unsplit {
		parts = strings.Split(strings.TrimSuffix(text, ","), ",")
	}
	if !f.set || text == "" {
		f.target.SetZero()
	}
	f.set = true
	if text == "" {
		return nil
	}
	for _, part := range parts {
		value := reflect.New(f.elem()).Elem()
		if err := f.parseOne(part, value); err != nil {
			return err
		}
		f.target.Set(reflect.Append(f.target, value))
	}
	return nil
}

// parseOne parses a value, or one of a slice.
func (f *Field) parseOne(text string, target reflect.Value) error {
	if f.Enum != nil && !slices.Contains(f.Enum, text) {
		return fmt.Errorf("must be one of %s", strings.Trim(strings.Join(f.Enum, ", "), ", "))
	}
	return parseText(text, target)
}

// errUnsupported is returned for types that parseText does not know.
var errUnsupported = errors.New("type is not supported")

// parseText parses a value of a supported type. Its errors do not contain the text,
// which can be a secret, unless the type's own method UnmarshalText adds it.
func parseText(text string, target reflect.Value) error {
	switch known := target.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return known.UnmarshalText([]byte(text))
	case *time.Duration:
		parsed, err := time.ParseDuration(text)
		if err != nil {
			return errors.New("expected a duration such as 30s, 5m or 24h")
		}
		*known = parsed
		return nil
	case **url.URL:
		parsed, err := url.Parse(text)
		if err != nil {
			return errors.New("expected a URL")
		}
		*known = parsed
		return nil
	}
	return parseKind(text, target)
}

// parseKind is parseText for the kinds of Go.
func parseKind(text string, target reflect.Value) error {
	switch target.Kind() {
	case reflect.Pointer:
		value := reflect.New(target.Type().Elem())
		if err := parseText(text, value.Elem()); err != nil {
			return err
		}
		target.Set(value)
	case reflect.String:
		target.SetString(text)
	case reflect.Bool:
		value, known := map[string]bool{"true": true, "1": true, "yes": true, "false": false, "0": false, "no": false}[strings.ToLower(text)]
		if !known {
			return errors.New("must be true, 1, yes, false, 0 or no")
		}
		target.SetBool(value)
	case reflect.Int, reflect.Int64:
		value, err := strconv.ParseInt(text, 0, target.Type().Bits())
		if err != nil {
			return errors.New("expected an integer")
		}
		target.SetInt(value)
	case reflect.Float64:
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return errors.New("expected a number")
		}
		target.SetFloat(value)
	default:
		return fmt.Errorf("%w: %s", errUnsupported, target.Type())
	}
	return nil
}

// checkPath checks that the file of a flag exists, and makes its path absolute. A
// leading ~/ is the user's home directory, because a shell does not expand it in
// --flag=~/file.
func (f *Field) checkPath() error {
	if f.kind == "" || !f.set {
		return nil
	}
	path := f.target.String()
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		path = filepath.Join(home, rest)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil && f.kind == "existingfile" && info.IsDir() {
		err = fmt.Errorf("%s is a directory", path)
	}
	f.target.SetString(path)
	return err
}
