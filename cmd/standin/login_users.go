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

// printFirstLink prints where the first user of the dashboard is made, while
// there is none.
func printFirstLink(ctx context.Context, out io.Writer, s *service.Service) error {
	link, ok, err := s.FirstUserLink(ctx)
	if err != nil || !ok {
		return err
	}
	_, err = fmt.Fprintf(out, "open this link to make the dashboard's first user; it works once, within a day:\n  %s\n", link)
	return err
}

// oidc is where users of the dashboard may sign in elsewhere.
func (c *serveCommand) oidc() (dashboard.OIDCSettings, error) {
	settings := dashboard.OIDCSettings{Issuer: c.OIDCIssuer, ClientID: c.OIDCClientID, ClientSecret: c.OIDCClientSecret}
	if c.OIDCClientSecretFile == "" {
		return settings, nil
	}
	secret, err := os.ReadFile(c.OIDCClientSecretFile)
	if err != nil {
		return settings, fmt.Errorf("read the OpenID Connect client's secret: %w", err)
	}
	settings.ClientSecret = strings.TrimSpace(string(secret))
	return settings, nil
}
