package tracing

import (
	"encoding/hex"
	"fmt"
	"strings"
)

const flagSampled = 1

// parseTraceparent parses a traceparent header (W3C Trace Context). It reports
// false for anything else, which is ignored.
func parseTraceparent(header string) (c spanContext, ok bool) {
	const length = 55
	if len(header) < length || len(header) > length && (header[:2] == "00" || header[length] != '-') ||
		header[2] != '-' || header[35] != '-' || header[52] != '-' || strings.ToLower(header[:length]) != header[:length] {
		return spanContext{}, false
	}
	var version, flags [1]byte
	for _, field := range []struct {
		into []byte
		text string
	}{{version[:], header[:2]}, {c.trace[:], header[3:35]}, {c.span[:], header[36:52]}, {flags[:], header[53:55]}} {
		if _, err := hex.Decode(field.into, []byte(field.text)); err != nil {
			return spanContext{}, false
		}
	}
	if version[0] == 0xff || c.trace == (traceID{}) || c.span == (spanID{}) {
		return spanContext{}, false
	}
	c.sampled = flags[0]&flagSampled != 0
	return c, true
}

// traceparent returns the header of a span.
func (c spanContext) traceparent() string {
	flags := 0
	if c.sampled {
		flags = flagSampled
	}
	return fmt.Sprintf("00-%x-%x-%02x", c.trace, c.span, flags)
}
