package tracing

import (
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of OTLP, in the binary encoding of Protocol Buffers:
// https://github.com/open-telemetry/opentelemetry-proto, trace/v1/trace.proto and
// common/v1/common.proto. The generated types would add the packages of gRPC to
// the program.

// encodeRequest returns an ExportTraceServiceRequest with the spans.
func encodeRequest(resource []byte, scopeVersion string, spans []span) []byte {
	var scope []byte
	scope = appendText(scope, 1, "standin")
	scope = appendText(scope, 2, scopeVersion)

	var scopeSpans []byte
	scopeSpans = appendMessage(scopeSpans, 1, scope)
	for i := range spans {
		scopeSpans = appendMessage(scopeSpans, 2, encodeSpan(&spans[i]))
	}
	var resourceSpans []byte
	resourceSpans = appendMessage(resourceSpans, 1, resource)
	resourceSpans = appendMessage(resourceSpans, 2, scopeSpans)
	return appendMessage(nil, 1, resourceSpans)
}

// encodeResource returns a Resource. Empty attributes are omitted.
func encodeResource(attributes ...attribute) []byte {
	var b []byte
	for _, one := range attributes {
		if one.text != "" {
			b = appendMessage(b, 1, encodeAttribute(one))
		}
	}
	return b
}

// Flags of spans and links beside the sampled flag: it is known whether the
// parent, or the linked span, is one of another service, and it is.
const (
	flagHasRemote = 0x100
	flagRemote    = 0x200
)

func encodeSpan(s *span) []byte {
	b := appendMessage(nil, 1, s.trace[:])
	b = appendMessage(b, 2, s.id[:])
	flags := uint32(flagSampled)
	if s.parent != (spanID{}) {
		b = appendMessage(b, 4, s.parent[:])
		flags |= flagHasRemote
		if s.remote {
			flags |= flagRemote
		}
	}
	b = appendText(b, 5, s.name)
	b = appendVarint(b, 6, uint64(s.kind))
	b = appendTime(b, 7, s.start)
	b = appendTime(b, 8, s.end)
	b = appendAttributes(b, 9, s.attributes)
	for _, event := range s.events {
		b = appendMessage(b, 11, encodeEvent(event))
	}
	if s.link != (spanContext{}) {
		b = appendMessage(b, 13, encodeLink(s.link))
	}
	if s.failed {
		b = appendMessage(b, 15, appendVarint(nil, 3, 2)) // STATUS_CODE_ERROR
	}
	return appendFixed32(b, 16, flags)
}

func encodeEvent(event spanEvent) []byte {
	b := appendTime(nil, 1, event.at)
	b = appendText(b, 2, event.name)
	return appendAttributes(b, 3, event.attributes)
}

func encodeLink(link spanContext) []byte {
	b := appendMessage(nil, 1, link.trace[:])
	b = appendMessage(b, 2, link.span[:])
	flags := uint32(0)
	if link.sampled {
		flags = flagSampled
	}
	return appendFixed32(b, 6, flags)
}

// encodeAttribute returns a KeyValue.
func encodeAttribute(a attribute) []byte {
	var value []byte // AnyValue
	if a.isNumber {
		value = appendVarint(value, 3, uint64(a.number))
	} else {
		value = appendText(value, 1, a.text)
	}
	return appendMessage(appendText(nil, 1, a.key), 2, value)
}

func appendAttributes(b []byte, field protowire.Number, attributes []attribute) []byte {
	for _, one := range attributes {
		b = appendMessage(b, field, encodeAttribute(one))
	}
	return b
}

func appendMessage(b []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), message)
}

// appendText appends a string, which must be UTF-8.
func appendText(b []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), strings.ToValidUTF8(value, ""))
}

func appendVarint(b []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), value)
}

func appendFixed32(b []byte, field protowire.Number, value uint32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(b, field, protowire.Fixed32Type), value)
}

// appendTime appends a time in nanoseconds since 1970.
func appendTime(b []byte, field protowire.Number, at time.Time) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), uint64(at.UnixNano()))
}
