// Package saml answers a Google Workspace domain that asks who a bot is: it is the identity provider of the accounts of a
// team. The package is pure: package lifecycle keeps its secrets, and bots carry questions and answers.
package saml

import (
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
)

// Provider is what the administrator of a domain enters as an SSO profile.
type Provider struct {
	EntityID    string `json:"entityId"`
	SignInURL   string `json:"signInUrl"`
	Certificate string `json:"certificate"` // PEM
}

// secret is the stored form of an identity provider. Its fields are DER.
type secret struct{ Key, Certificate []byte }

// certificateLife is how long the certificate of an identity provider is valid.
const certificateLife = 10 * 365 * 24 * time.Hour

// NewSecret makes the key and the certificate of an identity provider.
func NewSecret(now time.Time) (encoded []byte, err error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	certificate := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "Standin bots"}, NotBefore: now,
		NotAfter: now.Add(certificateLife), KeyUsage: x509.KeyUsageDigitalSignature,
	}
	made := secret{Key: x509.MarshalPKCS1PrivateKey(key)}
	if made.Certificate, err = x509.CreateCertificate(rand.Reader, certificate, certificate, &key.PublicKey, key); err != nil {
		return nil, err
	}
	return json.Marshal(made)
}

// Identity is an identity provider that can answer.
type Identity struct{ provider *saml.IdentityProvider }

// Open returns the identity provider with a secret of NewSecret, at an address.
func Open(encoded []byte, address string) (Identity, error) {
	var stored secret
	provider := &saml.IdentityProvider{}
	err := json.Unmarshal(encoded, &stored)
	if err == nil {
		provider.Key, err = x509.ParsePKCS1PrivateKey(stored.Key)
	}
	if err == nil {
		provider.Certificate, err = x509.ParseCertificate(stored.Certificate)
	}
	at, urlErr := url.Parse(address)
	if err = errors.Join(err, urlErr); err != nil {
		return Identity{}, fmt.Errorf("read the key for SAML: %w", err)
	}
	provider.SSOURL, provider.MetadataURL = *at, *at
	return Identity{provider}, nil
}

// Provider returns what a domain has to trust.
func (i Identity) Provider() Provider {
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.provider.Certificate.Raw})
	return Provider{i.provider.MetadataURL.String(), i.provider.SSOURL.String(), string(certificate)}
}

// Answer returns the page that answers a question, which is the query of an address, with the mail address of a user. The
// answer goes only to the origin. The error is for people.
func (i Identity) Answer(query, address, origin string, now time.Time) (string, error) {
	request, err := saml.NewIdpAuthnRequest(i.provider, &http.Request{Method: http.MethodGet, URL: &url.URL{RawQuery: query}})
	if err == nil {
		err = xml.Unmarshal(request.RequestBuffer, &request.Request)
	}
	if err != nil {
		return "", err
	}
	asked := request.Request
	if asked.Issuer == nil || !strings.HasPrefix(asked.AssertionConsumerServiceURL, origin+"/") {
		return "", errors.New("its answer would not go to Google")
	}
	request.SPSSODescriptor, request.ServiceProviderMetadata = &saml.SPSSODescriptor{}, &saml.EntityDescriptor{EntityID: asked.Issuer.Value}
	request.ACSEndpoint = &saml.IndexedEndpoint{Binding: saml.HTTPPostBinding, Location: asked.AssertionConsumerServiceURL}
	err = saml.DefaultAssertionMaker{}.MakeAssertion(request, &saml.Session{
		ID: uuid.NewString(), CreateTime: now, ExpireTime: now.Add(time.Hour), Index: uuid.NewString(), NameID: address,
		NameIDFormat: string(saml.EmailAddressNameIDFormat),
	})
	var form saml.IdpAuthnRequestForm
	if err == nil {
		form, err = request.PostBinding()
	}
	var written strings.Builder
	if err == nil {
		err = page.Execute(&written, form)
	}
	return written.String(), err
}

// page posts an answer.
var page = template.Must(template.New("saml").Parse(`<!doctype html><form method="post" action="{{.URL}}">` +
	`<input type="hidden" name="SAMLResponse" value="{{.SAMLResponse}}"><input type="hidden" name="RelayState" value="{{.RelayState}}">` +
	`</form><script>document.forms[0].submit()</script>`))
