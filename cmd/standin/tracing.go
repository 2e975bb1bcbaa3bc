package main

import "standin/internal/tracing"

// tracingFlags configure the export of traces. The variables are those of
// OpenTelemetry.
type tracingFlags struct {
	OTLPEndpoint  string `env:"OTEL_EXPORTER_OTLP_ENDPOINT" name:"otlp-endpoint" placeholder:"http://localhost:4318" help:"OpenTelemetry collector that traces are sent to, with OTLP over HTTP; /v1/traces is appended. Default: none; there are no traces."`
	OTLPHeaders   string `env:"OTEL_EXPORTER_OTLP_HEADERS" name:"otlp-headers" placeholder:"name=value,…" help:"Headers of the requests to the collector, such as its credentials, with percent-encoded values. Prefer the environment variable."`
	TraceService  string `env:"OTEL_SERVICE_NAME" name:"trace-service-name" default:"standin" help:"Name of this service in traces."`
	TraceSampler  string `env:"OTEL_TRACES_SAMPLER" name:"trace-sampler" default:"parentbased_always_on" enum:"always_on,always_off,traceidratio,parentbased_always_on,parentbased_always_off,parentbased_traceidratio" help:"Which traces are recorded."`
	TraceArgument string `env:"OTEL_TRACES_SAMPLER_ARG" name:"trace-sampler-arg" help:"Ratio of the traces that the samplers traceidratio and parentbased_traceidratio record, from 0 to 1. Default: 1."`
}

// tracing returns the settings of the service.
func (f tracingFlags) tracing() (tracing.Settings, error) {
	headers, err := tracing.ParseHeaders(f.OTLPHeaders)
	if err != nil {
		return tracing.Settings{}, err
	}
	sampler, err := tracing.ParseSampler(f.TraceSampler, f.TraceArgument)
	if err != nil {
		return tracing.Settings{}, err
	}
	return tracing.Settings{
		Endpoint: f.OTLPEndpoint, Headers: headers, Service: f.TraceService, Version: version(), Sampler: sampler,
	}, nil
}
