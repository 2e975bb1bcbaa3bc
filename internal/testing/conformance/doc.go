// Package conformance tests the clients against a running service. Each of them
// passes every row of clients/conformance.json.
package conformance
