package tracing

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/net/http/httpguts"

	"standin/internal/jobs/job"
)

// Settings configure a Tracer. Tags describe the flags and environment variables of
// package main, which are those of OpenTelemetry.
type Settings struct {
	Endpoint   string `env:"OTEL_EXPORTER_OTLP_ENDPOINT" name:"otlp-endpoint" placeholder:"http://localhost:4318" help:"OpenTelemetry collector that traces are sent to, with OTLP over HTTP; /v1/traces is appended. If unset, tracing is off."`
	Headers    string `env:"OTEL_EXPORTER_OTLP_HEADERS" name:"otlp-headers" placeholder:"name=value,…" help:"Headers of the requests to the collector, such as its credentials, with percent-encoded values. Prefer the environment variable."`
	Service    string `env:"OTEL_SERVICE_NAME" name:"trace-service-name" default:"standin" help:"Name of this service in traces."`
	Sampler    string `env:"OTEL_TRACES_SAMPLER" name:"trace-sampler" default:"parentbased_always_on" enum:"always_on,always_off,traceidratio,parentbased_always_on,parentbased_always_off,parentbased_traceidratio" help:"Which traces are recorded."`
	SamplerArg string `env:"OTEL_TRACES_SAMPLER_ARG" name:"trace-sampler-arg" help:"Ratio of the traces that the samplers traceidratio and parentbased_traceidratio record, from 0 to 1. Default: 1."`

	Version  string       `kong:"-"` // of the service
	Node     string       `kong:"-"` // ID of this node
	Timeline Timeline     `kong:"-"`
	Log      *slog.Logger `kong:"-"`
}

// Timeline reads the timelines of jobs.
type Timeline interface {
	ListTimeline(ctx context.Context, jobID, after uuid.UUID, limit int) (entries []job.TimelineEntry, more bool, err error)
}

// Sampler decides which traces are recorded.
type Sampler struct {
	Ratio       float64 // of the traces that begin here, from 0 to 1
	ParentBased bool    // traces that a caller has begun are recorded when the caller records them
}

// parseSampler returns the sampler with a name of OTEL_TRACES_SAMPLER. argument is the
// ratio of those that end in traceidratio; empty is 1.
func parseSampler(name, argument string) (Sampler, error) {
	base, parentBased := strings.CutPrefix(name, "parentbased_")
	sampler := Sampler{ParentBased: parentBased}
	switch base {
	case "always_on":
		sampler.Ratio = 1
	case "always_off":
	case "traceidratio":
		sampler.Ratio = 1
		if argument == "" {
			break
		}
		ratio, err := strconv.ParseFloat(argument, 64)
		if err != nil || math.IsNaN(ratio) || ratio < 0 || ratio > 1 {
			return Sampler{}, fmt.Errorf("the ratio of the trace sampler is %q; it must be a number from 0 to 1", argument)
		}
		sampler.Ratio = ratio
	default:
		return Sampler{}, fmt.Errorf("there is no trace sampler %q", name)
	}
	return sampler, nil
}

// samplesJob reports whether the trace of a job is recorded.
func (s Sampler) samplesJob(jobID uuid.UUID) bool {
	return ratioSampler(s.Ratio).samples(jobTrace(jobID))
}

// ratioSampler records a ratio of all traces. It uses the last 56 bits of trace
// IDs, which W3C Trace Context defines as random. The SDK's sampler
// TraceIDRatioBased uses bits that are constant in the IDs of jobs, UUIDs of
// version 7.
type ratioSampler float64

func (s ratioSampler) samples(id trace.TraceID) bool {
	const random = 1<<56 - 1
	return float64(binary.BigEndian.Uint64(id[8:])&random) < float64(s)*(1<<56)
}

// ShouldSample implements sdktrace.Sampler.
func (s ratioSampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	result := sdktrace.SamplingResult{Decision: sdktrace.Drop, Tracestate: trace.SpanContextFromContext(p.ParentContext).TraceState()}
	if s.samples(p.TraceID) {
		result.Decision = sdktrace.RecordAndSample
	}
	return result
}

// Description implements sdktrace.Sampler.
func (s ratioSampler) Description() string { return fmt.Sprintf("ratioSampler{%g}", float64(s)) }

// collectorURL returns the URL that spans are posted to.
func collectorURL(endpoint string) (string, error) {
	address, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", errors.New("the OTLP endpoint is not a URL") // the parse error quotes it
	case address.User != nil:
		return "", errors.New("the OTLP endpoint must not contain credentials; set them with OTEL_EXPORTER_OTLP_HEADERS")
	case address.Scheme != "http" && address.Scheme != "https" || address.Host == "":
		return "", fmt.Errorf("the OTLP endpoint %s://%s is not of the form http://host:4318", address.Scheme, address.Host)
	}
	address.Path = strings.TrimRight(address.Path, "/") + tracesPath
	return address.String(), nil
}

// parseHeaders parses headers of the form name=value,name=value, whose values are
// percent-encoded, as in OTEL_EXPORTER_OTLP_HEADERS. Errors do not quote values.
func parseHeaders(list string) (map[string]string, error) {
	headers := make(map[string]string)
	for field := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(field) == "" {
			continue
		}
		name, value, found := strings.Cut(field, "=")
		name = strings.TrimSpace(name)
		if !found || !httpguts.ValidHeaderFieldName(name) {
			return nil, errors.New("the OTLP headers are not of the form name=value,name=value")
		}
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if err != nil || !httpguts.ValidHeaderFieldValue(decoded) {
			return nil, fmt.Errorf("the value of the OTLP header %s is not percent-encoded text", name)
		}
		headers[name] = decoded
	}
	return headers, nil
}
