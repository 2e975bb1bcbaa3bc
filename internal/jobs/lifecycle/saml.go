package lifecycle

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"standin/internal/bot/browser/network"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/saml"
	"standin/internal/jobs/signin"
)

// IdentityProvider returns the identity provider of a team, or of the operator with uuid.Nil, and makes it at first. Each has a
// key of its own, so that none can sign in as a user of a domain that trusts another one.
func (s *Service) IdentityProvider(ctx context.Context, owner uuid.UUID) (saml.Provider, error) {
	identity, err := s.identity(ctx, owner)
	if err != nil {
		return saml.Provider{}, err
	}
	return identity.Provider(), nil
}

func (s *Service) identity(ctx context.Context, owner uuid.UUID) (saml.Identity, error) {
	sealed, err := s.Store.SAMLSecret(ctx, owner, func() (string, error) {
		secret, err := saml.NewSecret(s.Now())
		return s.Sealer.Seal(owner.String(), string(secret)), err
	})
	var secret string
	if err == nil {
		secret, err = s.Sealer.Open(owner.String(), sealed)
	}
	if err != nil {
		return saml.Identity{}, err
	}
	return saml.Open([]byte(secret), ingest.SAMLOrigin+"/"+owner.String())
}

// answerSAML returns the page with which a bot answers Google, which asks who it is.
func (s *Service) answerSAML(ctx context.Context, a signin.Account, query string) (string, error) {
	identity, err := s.identity(ctx, a.ConsumerID)
	if err != nil {
		return "", err
	}
	page, err := identity.Answer(query, a.Address, s.googleOrigin(), s.Now())
	if err != nil {
		err = job.NewInvalidInput("the request for a sign-in cannot be answered: "+err.Error(), "samlRequest")
	}
	return page, err
}

// googleOrigin returns where Google signs people in.
func (s *Service) googleOrigin() string {
	return network.Origin(cmp.Or(s.GoogleURL, "https://accounts.google.com"))
}
