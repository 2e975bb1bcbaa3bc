package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"standin/internal/dashboard"
	"standin/internal/service"
)

// printFirstUserLink prints the one-time link that creates the first dashboard
// user, if there is no user yet.
func printFirstUserLink(ctx context.Context, out io.Writer, s *service.Service) error {
	link, ok, err := s.FirstUserLink(ctx)
	if err != nil || !ok {
		return err
	}
	_, err = fmt.Fprintf(out, "open this link to create the first dashboard user; it works once and expires in 24 hours:\n  %s\n", link)
	return err
}

// oidc returns the OpenID Connect settings of the dashboard.
func (c *serveCommand) oidc() (dashboard.OIDCSettings, error) {
	settings := dashboard.OIDCSettings{Issuer: c.OIDCIssuer, ClientID: c.OIDCClientID, ClientSecret: c.OIDCClientSecret}
	if c.OIDCClientSecretFile == "" {
		return settings, nil
	}
	secret, err := os.ReadFile(c.OIDCClientSecretFile)
	if err != nil {
		return settings, fmt.Errorf("read the OpenID Connect client secret: %w", err)
	}
	settings.ClientSecret = strings.TrimSpace(string(secret))
	return settings, nil
}
