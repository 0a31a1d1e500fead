import type { PageFile } from './pageFiles.ts';

/** What a worker prints of a span that ends, after the word `span`. */
export interface PrintedSpan {
  name: string;
  kind: string;
  traceId: string;
  parentSpanId: string;
  attributes: Record<string, string>;
  failed: boolean;
}

/** OpenTelemetry itself. */
const NODE = `
import { propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';

const print = ({ name, kind, parentSpanContext: { traceId, spanId }, attributes, status }) => {
  const failed = status.code === SpanStatusCode.ERROR;
  const span = { name, kind: SpanKind[kind], traceId, parentSpanId: spanId, attributes, failed };
  console.log('span', JSON.stringify(span));
};
const printer = {
  export(spans, done) {
    spans.forEach(print);
    done({ code: 0 });
  },
  shutdown: async () => {},
};
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(printer)] }));
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
`;

// Tests install no packages of Python and Go. So these have what the examples call, by the same names, and print.

const PYTHON_PROPAGATE = `
def extract(carrier):
    return carrier["traceparent"]
`;
const PYTHON_TRACE = `
import json
from contextlib import contextmanager
from enum import Enum


class SpanKind(Enum):
    CONSUMER = 4


class Tracer:
    @contextmanager
    def start_as_current_span(self, name, *, context, kind, attributes):
        _, trace, parent, _ = context.split("-")
        span = {"name": name, "kind": kind.name, "traceId": trace, "parentSpanId": parent, "attributes": attributes}
        failed = True
        try:
            yield
            failed = False
        finally:
            # One write: other threads print, too.
            print(f"span {json.dumps({**span, 'failed': failed})}\\n", end="", flush=True)


def get_tracer(name):
    return Tracer()
`;

const GO_OTEL = `
package otel

import "go.opentelemetry.io/otel/trace"

func Tracer(string) trace.Tracer { return trace.Tracer{} }
`;
const GO_ATTRIBUTE = `
package attribute

type KeyValue struct{ Key, Value string }

func String(key, value string) KeyValue { return KeyValue{key, value} }
`;
const GO_CODES = `
package codes

type Code int

const Error Code = 1
`;
const GO_PROPAGATION = `
package propagation

import "context"

type (
	MapCarrier   map[string]string
	TraceContext struct{}
)

func (TraceContext) Extract(ctx context.Context, carrier MapCarrier) context.Context {
	return context.WithValue(ctx, "traceparent", carrier["traceparent"])
}
`;
const GO_TRACE = `
package trace

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
)

type (
	Tracer struct{}
	Span   map[string]any
	Option func(Span)
)

const SpanKindConsumer = "CONSUMER"

func WithSpanKind(kind string) Option { return func(span Span) { span["kind"] = kind } }

func WithAttributes(all ...attribute.KeyValue) Option {
	return func(span Span) {
		attributes := map[string]string{}
		for _, one := range all {
			attributes[one.Key] = one.Value
		}
		span["attributes"] = attributes
	}
}

func (Tracer) Start(ctx context.Context, name string, options ...Option) (context.Context, Span) {
	parts := strings.Split(ctx.Value("traceparent").(string), "-")
	span := Span{"name": name, "traceId": parts[1], "parentSpanId": parts[2], "failed": false}
	for _, option := range options {
		option(span)
	}
	return ctx, span
}

func (s Span) SetStatus(code codes.Code, _ string) { s["failed"] = code == codes.Error }

func (s Span) End() {
	text, _ := json.Marshal(s)
	fmt.Println("span", string(text))
}
`;

const goPackage = (path: string, text: string) => ({ name: `otel/${path}`, text });

/** What stands beside the examples, so that each span is printed. */
export const spanPrinters = {
  typescript: [{ name: 'sdk.mjs', text: NODE }],
  python: [
    { name: 'opentelemetry/propagate.py', text: PYTHON_PROPAGATE },
    { name: 'opentelemetry/trace.py', text: PYTHON_TRACE },
  ],
  go: [
    goPackage('go.mod', 'module go.opentelemetry.io/otel\n\ngo 1.22\n'),
    goPackage('otel.go', GO_OTEL),
    goPackage('attribute/attribute.go', GO_ATTRIBUTE),
    goPackage('codes/codes.go', GO_CODES),
    goPackage('propagation/propagation.go', GO_PROPAGATION),
    goPackage('trace/trace.go', GO_TRACE),
  ],
} satisfies Record<string, PageFile[]>;
