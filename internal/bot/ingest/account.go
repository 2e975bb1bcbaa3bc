package ingest

import "standin/internal/jobs/signin"

// AccountPath is the path of the operation by which a bot borrows an account, and, with
// /{jobId}/{attempt}, returns it.
const AccountPath = "/api/v1/ingest/account"

// AccountRequest asks for an account to sign in with.
type AccountRequest struct {
	JobID   string `json:"jobId"`
	Attempt int    `json:"attempt"`
	// Refusal says why the page refused the bot as a guest; empty before it was tried.
	Refusal string `json:"refusal,omitempty"`
}

// AccountResponse has the account, or the reason why there is none.
type AccountResponse struct {
	Account string       `json:"account"` // label; empty without one
	Reason  string       `json:"reason"`  // empty for a guest who needs none
	State   signin.State `json:"state"`
}
