package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// Account is an account with which bots sign in to a meeting platform.
type Account struct {
	ID            string       `json:"id"`
	Owner         string       `json:"owner"` // team or operator
	Platform      string       `json:"platform"`
	Label         string       `json:"label"`
	Address       *string      `json:"address"`
	Group         *string      `json:"group"`
	MaxMeetings   int          `json:"maxMeetings"`
	Meetings      int          `json:"meetings"`  // in which it is
	Condition     string       `json:"condition"` // ready, in_use, resting or signed_out
	Reason        *string      `json:"reason"`
	SAML          bool         `json:"saml"`
	SignedInUntil *time.Time   `json:"signedInUntil"` // nil if unknown
	RestsUntil    *time.Time   `json:"restsUntil"`
	LastUsedAt    *time.Time   `json:"lastUsedAt"`
	CreatedAt     time.Time    `json:"createdAt"`
	Uses          []AccountUse `json:"uses"` // the last ones in jobs of the team
}

// AccountUse is an account in the meeting of a job.
type AccountUse struct {
	JobID       string    `json:"jobId"`
	At          time.Time `json:"at"`
	Active      bool      `json:"active"`
	Reason      string    `json:"reason"`
	Status      string    `json:"status"`
	FailureCode *string   `json:"failureCode"`
}

// NewAccount is an account to add. Zero fields have their defaults.
type NewAccount struct {
	Platform    string `json:"platform"`
	Label       string `json:"label"`
	Address     string `json:"address,omitempty"`
	Group       string `json:"group,omitempty"`
	MaxMeetings int    `json:"maxMeetings,omitempty"`
	Cookies     string `json:"cookies,omitempty"` // the text of the file that a browser extension exports
	SAML        bool   `json:"saml,omitempty"`    // sign in by SAML instead; see IdentityProvider
}

// Accounts iterates over the accounts of the team, and those of the operator for it, oldest first.
func (c *Client) Accounts(ctx context.Context) iter.Seq2[Account, error] {
	return pages[Account](ctx, c, "accounts", nil, "accounts")
}

// CreateAccount adds an account.
func (c *Client) CreateAccount(ctx context.Context, account NewAccount) (Account, error) {
	return fetch[Account](ctx, c, http.MethodPost, account, "accounts")
}

// IdentityProvider is what the SSO profile of a Google Workspace domain needs, so that accounts with SAML sign in as
// its users.
type IdentityProvider struct {
	EntityID    string `json:"entityId"`
	SignInURL   string `json:"signInUrl"`
	Certificate string `json:"certificate"` // PEM
}

// IdentityProvider returns the identity provider of the team.
func (c *Client) IdentityProvider(ctx context.Context) (IdentityProvider, error) {
	return get[IdentityProvider](ctx, c, "identity-provider")
}

// Account returns an account of the team.
func (c *Client) Account(ctx context.Context, id string) (Account, error) {
	return get[Account](ctx, c, "accounts", id)
}

// PatchAccount changes fields of an account of the team, by their names in the API. A nil value removes one.
func (c *Client) PatchAccount(ctx context.Context, id string, patch map[string]any) (Account, error) {
	return fetch[Account](ctx, c, http.MethodPatch, patch, "accounts", id)
}

// DeleteAccount removes an account of the team.
func (c *Client) DeleteAccount(ctx context.Context, id string) error {
	return c.remove(ctx, "accounts", id)
}

// ZoomApp is an app of Zoom's marketplace whose media streams the team's jobs with the platform zoom-sdk receive.
type ZoomApp struct {
	ID        string     `json:"id"`
	Label     string     `json:"label"`
	ClientID  string     `json:"clientId"`
	Record    bool       `json:"record"`  // each stream gets a job
	HeardAt   *time.Time `json:"heardAt"` // when Zoom last sent an event of it; nil if it has sent none
	CreatedAt time.Time  `json:"createdAt"`
}

// NewZoomApp is an app to add.
type NewZoomApp struct {
	Label        string `json:"label,omitempty"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
	SecretToken  string `json:"secretToken"`
	Record       bool   `json:"record,omitempty"`
}

// ZoomApps iterates over the apps of the team, oldest first.
func (c *Client) ZoomApps(ctx context.Context) iter.Seq2[ZoomApp, error] {
	return pages[ZoomApp](ctx, c, "zoomApps", nil, "zoom-apps")
}

// CreateZoomApp adds an app.
func (c *Client) CreateZoomApp(ctx context.Context, app NewZoomApp) (ZoomApp, error) {
	return fetch[ZoomApp](ctx, c, http.MethodPost, app, "zoom-apps")
}

// DeleteZoomApp removes an app.
func (c *Client) DeleteZoomApp(ctx context.Context, id string) error {
	return c.remove(ctx, "zoom-apps", id)
}
