package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of every body.
const (
	maxDepth  = 256 // of nested arrays and objects
	maxDigits = 400 // characters of a number, and the size of its exponent
)

// Parse parses a JSON body. Objects become map[string]any, in which the last of
// equal keys wins, and numbers become json.Number. An invalid body has one issue
// with the code invalid_json.
func Parse(body []byte) (any, []Issue) {
	unreadable := func(message string) (any, []Issue) {
		return nil, []Issue{{Path: []any{}, Message: message, Code: CodeInvalidJSON}}
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return unreadable("the body is empty")
	}
	if !utf8.Valid(body) {
		return unreadable("the body is not valid UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return unreadable(syntaxMessage(err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return unreadable("the body has text after the JSON value")
	}
	if message := checkValue(value, 0); message != "" {
		return unreadable(message)
	}
	return value, nil
}

// syntaxMessage describes a syntax error and its position.
func syntaxMessage(err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("the body is not valid JSON: byte %d", syntax.Offset)
	}
	return "the body is not valid JSON: it ends too early"
}

// checkValue returns a message when a value exceeds the bounds, else "".
func checkValue(value any, depth int) string {
	if depth > maxDepth {
		return fmt.Sprintf("the body is more than %d levels deep", maxDepth)
	}
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			if message := checkValue(inner, depth+1); message != "" {
				return message
			}
		}
	case []any:
		for _, inner := range value {
			if message := checkValue(inner, depth+1); message != "" {
				return message
			}
		}
	case json.Number:
		return checkNumber(string(value))
	}
	return ""
}

// checkNumber refuses numbers beyond the range of a float64 (RFC 8259, section 6),
// and short literals that are expensive to compute with, such as 1e999999.
func checkNumber(literal string) string {
	const message = "a number is too long or too large"
	if len(literal) > maxDigits {
		return message
	}
	if e := strings.IndexAny(literal, "eE"); e >= 0 {
		exponent, err := strconv.Atoi(literal[e+1:])
		if err != nil || exponent > maxDigits || exponent < -maxDigits {
			return message
		}
	}
	if float, err := strconv.ParseFloat(literal, 64); err != nil || math.IsInf(float, 0) {
		return message
	}
	return ""
}
