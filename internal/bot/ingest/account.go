package ingest

import "standin/internal/jobs/signin"

// AccountPath is the path of the operation by which a bot borrows an account, and, with
// /{jobId}/{attempt}, returns it.
const AccountPath = "/api/v1/ingest/account"

// SAMLOrigin is where Google asks for a sign-in by SAML. No server is there: bots answer in their browser.
const SAMLOrigin = "https://standin.invalid"

// AccountRequest asks for an account to sign in with.
type AccountRequest struct {
	JobID   string `json:"jobId"`
	Attempt int    `json:"attempt"`
	// Refusal says why the page refused the bot as a guest; empty before it was tried.
	Refusal string `json:"refusal,omitempty"`
	// SAML is the query with which Google asks who the bot is. The response has the page that answers it.
	SAML string `json:"samlRequest,omitempty"`
}

// AccountResponse has the account, or the reason why there is none.
type AccountResponse struct {
	Account string       `json:"account"` // label; empty without one
	Reason  string       `json:"reason"`  // empty for a guest who needs none
	State   signin.State `json:"state"`

	SignInURL string `json:"signInUrl,omitempty"` // where a sign-in by SAML starts; empty for others
	Page      string `json:"page,omitempty"`      // HTML
}
