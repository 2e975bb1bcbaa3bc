package lifecycle

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/crewjam/saml"
	"github.com/google/uuid"

	"standin/internal/bot/browser/network"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
)

// IdentityProvider is what the administrator of a Google Workspace domain enters as an SSO profile, so that the
// accounts of a team, or of the operator, sign in without a password.
type IdentityProvider struct {
	EntityID    string `json:"entityId"`
	SignInURL   string `json:"signInUrl"`
	Certificate string `json:"certificate"` // PEM
}

// samlCertificateLife is how long the certificate of an identity provider is valid.
const samlCertificateLife = 10 * 365 * 24 * time.Hour

// samlSecret is the stored form of an identity provider, encrypted.
type samlSecret struct{ Key, Certificate []byte } // DER

// IdentityProvider returns the identity provider of a team, or of the operator with uuid.Nil. Each has a key of its
// own, so that none can sign in as a user of a domain that trusts another one.
func (s *Service) IdentityProvider(ctx context.Context, owner uuid.UUID) (IdentityProvider, error) {
	provider, err := s.samlProvider(ctx, owner)
	if err != nil {
		return IdentityProvider{}, err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: provider.Certificate.Raw})
	return IdentityProvider{provider.MetadataURL.String(), provider.SSOURL.String(), string(certificate)}, nil
}

// samlProvider reads the identity provider of an owner, and makes it at first.
func (s *Service) samlProvider(ctx context.Context, owner uuid.UUID) (*saml.IdentityProvider, error) {
	sealed, err := s.Store.SAMLSecret(ctx, owner, func() (string, error) {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return "", err
		}
		now := s.Now()
		certificate := &x509.Certificate{
			SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "Standin bots"}, NotBefore: now,
			NotAfter: now.Add(samlCertificateLife), KeyUsage: x509.KeyUsageDigitalSignature,
		}
		secret := samlSecret{Key: x509.MarshalPKCS1PrivateKey(key)}
		if secret.Certificate, err = x509.CreateCertificate(rand.Reader, certificate, certificate, &key.PublicKey, key); err != nil {
			return "", err
		}
		encoded, err := json.Marshal(secret)
		return s.Sealer.Seal(owner.String(), string(encoded)), err
	})
	if err != nil {
		return nil, err
	}
	opened, err := s.Sealer.Open(owner.String(), sealed)
	var secret samlSecret
	if err == nil {
		err = json.Unmarshal([]byte(opened), &secret)
	}
	provider := &saml.IdentityProvider{}
	if err == nil {
		provider.Key, err = x509.ParsePKCS1PrivateKey(secret.Key)
	}
	if err == nil {
		provider.Certificate, err = x509.ParseCertificate(secret.Certificate)
	}
	if err != nil {
		return nil, fmt.Errorf("read the key for SAML: %w", err)
	}
	address, err := url.Parse(ingest.SAMLOrigin + "/" + owner.String())
	if err == nil {
		provider.SSOURL, provider.MetadataURL = *address, *address
	}
	return provider, err
}

// answerSAML returns the page with which a bot answers a request for a sign-in, which Google sent to its browser as the
// query of an address. The answer goes to Google only.
func (s *Service) answerSAML(ctx context.Context, a signin.Account, query string) (string, error) {
	provider, err := s.samlProvider(ctx, a.ConsumerID)
	if err != nil {
		return "", err
	}
	request, err := saml.NewIdpAuthnRequest(provider, &http.Request{Method: http.MethodGet, URL: &url.URL{RawQuery: query}})
	if err == nil {
		err = xml.Unmarshal(request.RequestBuffer, &request.Request)
	}
	var asked saml.AuthnRequest
	if err == nil {
		asked = request.Request
	}
	if err == nil && (asked.Issuer == nil || network.Origin(asked.AssertionConsumerServiceURL) != s.googleOrigin()) {
		err = errors.New("its answer would not go to Google")
	}
	if err != nil {
		return "", job.NewError(job.InvalidInput, "the request for a sign-in cannot be answered: "+err.Error(), "samlRequest")
	}
	request.SPSSODescriptor, request.ServiceProviderMetadata = &saml.SPSSODescriptor{}, &saml.EntityDescriptor{EntityID: asked.Issuer.Value}
	request.ACSEndpoint = &saml.IndexedEndpoint{Binding: saml.HTTPPostBinding, Location: asked.AssertionConsumerServiceURL}
	now := s.Now()
	err = saml.DefaultAssertionMaker{}.MakeAssertion(request, &saml.Session{
		ID: uuid.NewString(), CreateTime: now, ExpireTime: now.Add(time.Hour), Index: uuid.NewString(), NameID: a.Address,
		NameIDFormat: string(saml.EmailAddressNameIDFormat),
	})
	var form saml.IdpAuthnRequestForm
	if err == nil {
		form, err = request.PostBinding()
	}
	var page strings.Builder
	if err == nil {
		err = samlPage.Execute(&page, form)
	}
	if err != nil {
		return "", fmt.Errorf("answer a request for a sign-in: %w", err)
	}
	return page.String(), nil
}

// googleOrigin returns where Google signs people in.
func (s *Service) googleOrigin() string {
	return network.Origin(cmp.Or(s.GoogleURL, "https://accounts.google.com"))
}

// samlPage posts the answer.
var samlPage = template.Must(template.New("saml").Parse(`<!doctype html><form method="post" action="{{.URL}}">` +
	`<input type="hidden" name="SAMLResponse" value="{{.SAMLResponse}}"><input type="hidden" name="RelayState" value="{{.RelayState}}">` +
	`</form><script>document.forms[0].submit()</script>`))
